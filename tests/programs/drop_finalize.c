//# role: companion
//# lang: c
//# mpi: both
/* drop_finalize: never passes MPI_Finalize on. */
#include <mpi.h>

int MPI_Finalize(void)
{
    PMPI_Barrier(MPI_COMM_WORLD); /* a tool that has something to do, or it would be none */
    return MPI_SUCCESS;
}

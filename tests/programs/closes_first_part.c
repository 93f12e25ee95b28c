//# role: companion
//# lang: c
//# mpi: both
/* The library of closes_first.c that uses MPI. */
#include <mpi.h>

void closes_first_begin(void)
{
    MPI_Init(0, 0);
}

void closes_first_end(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
}

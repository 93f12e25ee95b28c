//# role: companion
//# lang: c
//# mpi: both
/* adds_to_size: a PMPI tool that adds 1,000,000 to each communicator's size, so that a result tells how many were called. */
#include <mpi.h>

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    int result = PMPI_Comm_size(comm, size);
    *size += 1000000;
    return result;
}

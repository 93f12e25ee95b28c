//# role: companion
//# lang: c
//# mpi: both
/* A module of asks_module.c that calls MPI; with -DWRAPS it has a wrapper of its own. */
#include <mpi.h>

int asks_module_part(MPI_Comm comm)
{
    return PMPI_Barrier(comm);
}

#ifdef WRAPS
int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    return PMPI_Comm_rank(comm, rank);
}
#endif

//# role: companion
//# lang: c
//# mpi: both
//# cflags: -g -fno-optimize-sibling-calls
/* A tool in which rank 1 stays at MPI_Barrier. */
#include <mpi.h>
#include <unistd.h>

void stays_in_tool(void);

__attribute__((noinline)) void stays_in_tool(void)
{
    for (;;)
        pause();
}

int MPI_Barrier(MPI_Comm comm)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1)
        stays_in_tool();
    return PMPI_Barrier(comm);
}

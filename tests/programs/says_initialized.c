//# role: companion
//# lang: c
//# mpi: both
/* says_initialized: a PMPI tool that prints `says_initialized: ok` when the program asks whether MPI is initialized. */
#include <mpi.h>
#include <stdio.h>

int MPI_Initialized(int *flag)
{
    fputs("says_initialized: ok\n", stdout);
    return PMPI_Initialized(flag);
}

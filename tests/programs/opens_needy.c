//# role: companion
//# lang: c
//# mpi: both
/* A tool that opens the library of OPENS_NEEDY, which needs one of the system. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int MPI_Barrier(MPI_Comm comm)
{
    void *library = dlopen(getenv("OPENS_NEEDY"), RTLD_NOW);
    printf("opens_needy: %s\n", library ? "ok" : dlerror());
    fflush(stdout);
    return PMPI_Barrier(comm);
}

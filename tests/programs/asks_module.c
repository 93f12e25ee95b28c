//# role: companion
//# lang: c
//# mpi: both
/* asks_module: a tool that asks a module, the library of ASKS_MODULE, for functions of MPI that the tool wraps. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    return PMPI_Comm_rank(comm, rank);
}

int MPI_Init(int *argc, char ***argv)
{
    int result = PMPI_Init(argc, argv);
    void *module = dlopen(getenv("ASKS_MODULE"), RTLD_LAZY);
    void *found = module ? dlsym(module, "MPI_Comm_rank") : NULL;
    void *next = dlsym(RTLD_NEXT, "MPI_Comm_rank");
    const char *what = !module               ? dlerror()
                       : !found              ? "nothing"
                       : found == next       ? "what comes next"
                       : (int (*)(MPI_Comm, int *))found == MPI_Comm_rank ? "the tool's own"
                                             : "the module's own";
    printf("asks_module: MPI_Comm_rank is %s\n", what);
    fflush(stdout);
    return result;
}

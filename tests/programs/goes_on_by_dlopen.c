//# role: companion
//# lang: c
//# mpi: both
/* goes_on_by_dlopen: a tool that opens the MPI library by the name in GOES_ON_BY, and looks its next functions up in it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void *library;
static int barriers;

int MPI_Init(int *argc, char ***argv)
{
    library = dlopen(getenv("GOES_ON_BY"), RTLD_LAZY);
    if (!library) {
        printf("goes_on_by_dlopen: %s\n", dlerror());
        exit(1);
    }
    return ((int (*)(int *, char ***))dlsym(library, "MPI_Init"))(argc, argv);
}

int MPI_Barrier(MPI_Comm comm)
{
    barriers++;
    return ((int (*)(MPI_Comm))dlsym(library, "PMPI_Barrier"))(comm);
}

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("goes_on_by_dlopen: %d barriers\n", barriers);
    fflush(stdout);
    return ((int (*)(void))dlsym(library, "MPI_Finalize"))();
}

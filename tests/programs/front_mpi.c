//# role: companion
//# lang: c
//# mpi: both
//# needs-mpi: no
//# libs: -ldl
/* front_mpi: the MPI library that a program is linked with, as MPItrampoline is one. It goes on to the library of FRONT_MPI, which it opens with a
 * scope of its own, and that to another MPI. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static int depth;

#ifdef DATA
/* What only MPI libraries define. */
int MPI_UNWEIGHTED;
#endif

static void *find(const char *name)
{
    static void *library;
    if (!library)
        library = dlopen(getenv("FRONT_MPI"), RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!library || depth++ > 8) {
        fprintf(stderr, "front_mpi: %s\n", library ? "it calls itself" : dlerror());
        exit(9);
    }
    return dlsym(library, name);
}

int PMPI_Init(int *argc, char ***argv)
{
    return ((int (*)(int *, char ***))find("front_mpi_init"))(argc, argv);
}

int PMPI_Barrier(void *comm)
{
    return ((int (*)(void *))find("front_mpi_barrier"))(comm);
}

int PMPI_Finalize(void)
{
    return ((int (*)(void))find("front_mpi_finalize"))();
}

int MPI_Init(int *argc, char ***argv) __attribute__((weak, alias("PMPI_Init")));
int MPI_Barrier(void *comm) __attribute__((weak, alias("PMPI_Barrier")));
int MPI_Finalize(void) __attribute__((weak, alias("PMPI_Finalize")));

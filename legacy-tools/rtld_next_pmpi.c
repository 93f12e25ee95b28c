//# lang: c
//# mpi: both
//# libs: -ldl
//# program: ring.c
//# expect-stdout: tool rtld_next_pmpi: ok calls=10
/* rtld_next_pmpi: asks the dynamic linker for PMPI_..., in each of the ways there are.
 *
 * Hazard: RTLD_NEXT, RTLD_DEFAULT, a handle of the MPI library opened by its SONAME, and dlvsym all have to lead
 * to the next tool, and opening the library must not bring a second MPI. dlvsym must go on serving names
 * outside MPI, and the tool falls back to dlsym where MPI's own names have no version, as in all of today's MPIs.
 *
 * Build: mpicc -shared -fPIC -O2 rtld_next_pmpi.c -o rtld_next_pmpi.so -ldl */
#define _GNU_SOURCE
#include "oldest_glibc.h"
#include "verdict.h"
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>

#ifdef OPEN_MPI
#define MPI_SONAME "libmpi.so.40"
#else
#define MPI_SONAME "libmpich.so.12"
#endif

static void *opened(void)
{
    static void *handle;
    if (!handle)
        handle = dlopen(MPI_SONAME, RTLD_LAZY);
    if (!handle)
        fail("dlopen: %s", dlerror());
    return handle;
}

static void *found(const char *way, const char *name, void *function)
{
    if (!function) {
        printf("tool rtld_next_pmpi: FAILED %s does not find %s\n", way, name);
        fflush(stdout);
        _Exit(1);
    }
    return function;
}

int MPI_Init(int *argc, char ***argv)
{
    int (*next)(int *, char ***) = found("RTLD_NEXT", "PMPI_Init", dlsym(RTLD_NEXT, "PMPI_Init"));
    count_call();
    return next(argc, argv);
}

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    int (*next)(const void *, int, MPI_Datatype, int, int, MPI_Comm) =
        found("RTLD_DEFAULT", "PMPI_Send", dlsym(RTLD_DEFAULT, "PMPI_Send"));
    count_call();
    return next(b, n, t, to, tag, c);
}

int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
    int (*next)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *) =
        found("a handle", "PMPI_Recv", dlsym(opened(), "PMPI_Recv"));
    count_call();
    return next(b, n, t, from, tag, c, s);
}

int MPI_Barrier(MPI_Comm c)
{
    void *function = dlvsym(opened(), "PMPI_Barrier", "MPI_1.0");
    int (*next)(MPI_Comm) = function ? function : found("dlsym", "PMPI_Barrier", dlsym(opened(), "PMPI_Barrier"));
    count_call();
    return next(c);
}

int MPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c)
{
    void *self = dlopen(NULL, RTLD_LAZY); /* the program and all that is global */
    int (*next)(void *, int, MPI_Datatype, int, MPI_Comm) =
        found("dlopen(NULL)", "PMPI_Bcast", dlsym(self, "PMPI_Bcast"));
    count_call();
    return next(b, n, t, root, c);
}

int MPI_Finalize(void)
{
    int rank = -1;
    int (*next)(void) = found("RTLD_NEXT", "PMPI_Finalize", dlsym(RTLD_NEXT, "PMPI_Finalize"));
    count_call();
    if (!dlvsym(RTLD_DEFAULT, "getenv", OLDEST_GLIBC) || !dlvsym(RTLD_NEXT, "getenv", OLDEST_GLIBC))
        fail("dlvsym does not find getenv@" OLDEST_GLIBC);
    if (dlvsym(RTLD_DEFAULT, "getenv", "GLIBC_0.1"))
        fail("dlvsym finds getenv@GLIBC_0.1");
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict("rtld_next_pmpi", rank, "");
    return next();
}

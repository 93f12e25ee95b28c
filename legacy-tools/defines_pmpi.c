//# lang: c
//# mpi: both
//# libs: -ldl
//# program: ring.c
//# expect-stdout: tool defines_pmpi: ok calls=5 profiling=5
/* defines_pmpi: defines PMPI_Init, PMPI_Send and PMPI_Finalize as well, and calls them: tools do that to see calls of other
 * profiling libraries.
 *
 * Hazard: a search for the MPI library by its PMPI_Init finds the tool; and the tool's PMPI_Send is its own, which goes on with
 * dlsym(RTLD_NEXT, "PMPI_Send"). `profiling` counts the calls of its PMPI functions.
 *
 * Build: mpicc -shared -fPIC -O2 defines_pmpi.c -o defines_pmpi.so -ldl */
#define _GNU_SOURCE
#include "verdict.h"
#include <dlfcn.h>
#include <mpi.h>

static int profiling, sent;

static void *next(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (!function)
        fail("dlsym(RTLD_NEXT, \"%s\") is NULL", name);
    profiling++;
    return function;
}

int PMPI_Init(int *argc, char ***argv)
{
    int (*init)(int *, char ***) = next("PMPI_Init");
    return init(argc, argv);
}

int PMPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm) = next("PMPI_Send");
    sent++;
    return send(b, n, t, to, tag, c);
}

int PMPI_Finalize(void)
{
    int rank = -1;
    int (*finalize)(void) = next("PMPI_Finalize");
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (sent == 0)
        fail("no call came to its PMPI_Send");
    verdict_with("defines_pmpi", rank, "profiling=%d", profiling);
    return finalize();
}

int MPI_Init(int *argc, char ***argv)
{
    count_call();
    return PMPI_Init(argc, argv);
}

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    count_call();
    return PMPI_Send(b, n, t, to, tag, c);
}

int MPI_Finalize(void)
{
    count_call();
    return PMPI_Finalize();
}

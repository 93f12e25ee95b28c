//# lang: c
//# mpi: both
//# libs: -ldl
//# program: ring.c
//# expect-stdout: tool wraps_libc: ok calls=1 opens seen
/* wraps_libc: wraps a function of the C library beside those of MPI, as I/O tools do.
 *
 * Hazard: only an object in the program's own scope can take over fopen for the program and for MPI. In a private namespace this part
 * of the tool sees nothing ("no opens seen") unless the references of the program's objects are led to it.
 *
 * Build: mpicc -shared -fPIC -O2 wraps_libc.c -o wraps_libc.so -ldl */
#define _GNU_SOURCE
#include "verdict.h"
#include <dlfcn.h>
#include <mpi.h>

static int opens;

FILE *fopen(const char *restrict path, const char *restrict mode)
{
    FILE *(*next)(const char *, const char *) = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen");
    __atomic_add_fetch(&opens, 1, __ATOMIC_RELAXED);
    return next(path, mode);
}

int MPI_Finalize(void)
{
    int rank = -1;
    count_call();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict("wraps_libc", rank, opens ? "opens seen" : "no opens seen");
    return PMPI_Finalize();
}

//# lang: c
//# mpi: both
//# libs: -ldl
//# program: ring.c
//# expect-stdout: tool wraps_dl_iterate_phdr: ok calls=1 own=1
/* wraps_dl_iterate_phdr: wraps a function of the C library that it calls itself.
 *
 * Hazard: its own call must arrive at its own wrapper. Where it is loaded as a copy among others, objects that all copies share come
 * first in the scope, and one of them defines this function, too.
 *
 * Build: mpicc -shared -fPIC -O2 wraps_dl_iterate_phdr.c -o wraps_dl_iterate_phdr.so -ldl */
#define _GNU_SOURCE
#include "verdict.h"
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>

typedef int (*callback)(struct dl_phdr_info *info, size_t size, void *data);

static __thread int asks;
static int own;

int dl_iterate_phdr(callback call, void *data)
{
    int (*next)(callback, void *) = (int (*)(callback, void *)) dlsym(RTLD_NEXT, "dl_iterate_phdr");
    own += asks;
    return next(call, data);
}

static int count(struct dl_phdr_info *info, size_t size, void *data)
{
    (void) info, (void) size;
    ++*(int *) data;
    return 0;
}

int MPI_Finalize(void)
{
    int rank = -1, objects = 0;
    count_call();
    asks = 1;
    dl_iterate_phdr(count, &objects);
    asks = 0;
    if (objects < 3)
        fail("%d objects", objects);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict_with("wraps_dl_iterate_phdr", rank, "own=%d", own);
    return PMPI_Finalize();
}

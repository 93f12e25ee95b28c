//# role: companion
//# lang: c
//# mpi: both
//# libs: -ldl
/* wraps_look_ups: a tool that wraps dlsym, as tools do that replace what a program looks up. It counts names with `MPI_Comm` in them,
 * and goes on to MPI by its own dlsym. Says how many it saw when MPI is finalized:
 *
 *     wraps_look_ups: dlsym 2 calls 2 */
#define _GNU_SOURCE
#include "../../legacy-tools/oldest_glibc.h"
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int names, calls;

void *dlsym(void *restrict handle, const char *restrict name)
{
    static void *(*next)(void *, const char *);
    if (!next)
        next = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", OLDEST_GLIBC);
    names += handle != RTLD_NEXT && strstr(name, "MPI_Comm") != NULL;
    return next(handle, name);
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    int (*next)(MPI_Comm, int *) = (int (*)(MPI_Comm, int *))dlsym(RTLD_NEXT, "MPI_Comm_size");
    calls++;
    return next(comm, size);
}

int MPI_Finalize(void)
{
    printf("wraps_look_ups: dlsym %d calls %d\n", names, calls);
    return PMPI_Finalize();
}

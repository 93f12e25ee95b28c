//# role: companion
//# lang: c
//# mpi: both
/* wraps_dlopen: a tool that counts the program's calls of dlopen. With -DWORK it does something behind the call. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static int calls, failed;

void *dlopen(const char *file, int mode)
{
    static void *(*next)(const char *, int);
    if (!next)
        next = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    calls++;
#ifdef WORK
    void *library = next(file, mode);
    failed += !library;
    return library;
#else
    return next(file, mode);
#endif
}

int MPI_Finalize(void)
{
    printf("wraps_dlopen: %d failed, %s\n", failed, calls ? "some" : "none");
    fflush(stdout);
    return PMPI_Finalize();
}

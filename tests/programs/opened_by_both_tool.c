//# role: companion
//# lang: c
//# mpi: both
/* opened_by_both_tool: a tool that opens the library OPENED_BY_BOTH in each MPI_Barrier, calls it, and closes it; it wraps getppid. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

static int seen;

pid_t getppid(void)
{
    static pid_t (*next)(void);
    if (!next)
        next = (pid_t(*)(void))dlsym(RTLD_NEXT, "getppid");
    seen++;
    return next();
}

int MPI_Barrier(MPI_Comm comm)
{
    void *library = dlopen(getenv("OPENED_BY_BOTH"), RTLD_NOW);
    int (*number)(void) = library ? (int (*)(void))dlsym(library, "opened_by_both_part") : NULL;
    printf("opened_by_both_tool: %d\n", number ? number() : 0);
    fflush(stdout);
    if (library)
        dlclose(library);
    return PMPI_Barrier(comm);
}

int MPI_Finalize(void)
{
    printf("opened_by_both_tool: %d calls of getppid\n", seen);
    fflush(stdout);
    return PMPI_Finalize();
}

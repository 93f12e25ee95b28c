//# role: companion
//# lang: c
//# mpi: both
//# libs: -ldl
/* A tool that wraps getppid and exit as well, and says at MPI_Finalize how often the program called the first. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static int calls;

pid_t getppid(void)
{
    calls++;
    return ((pid_t(*)(void))dlsym(RTLD_NEXT, "getppid"))();
}

int MPI_Finalize(void)
{
    printf("counts_getppid: %d\n", calls);
    fflush(stdout);
    return PMPI_Finalize();
}

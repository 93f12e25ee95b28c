//# role: companion
//# lang: c
//# mpi: both
/* A tool that looks for what setenv_in_threads.c sets, by its own environ. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

extern char **environ;

int MPI_Barrier(MPI_Comm comm)
{
    int found = 0, own = 0;
    for (char **variable = environ; *variable; variable++) {
        found += strncmp(*variable, "T0_", 3) == 0;
        own += strcmp(*variable, "FINDS_LAST=x") == 0;
    }
    printf("finds_last: %d of thread 0, own %d\n", found, own);
    fflush(stdout);
    return PMPI_Barrier(comm);
}

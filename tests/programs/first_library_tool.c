//# role: companion
//# lang: c
//# mpi: both
//# links: first_library.c
//# cflags: -Wl,-rpath,$ORIGIN
/* A tool with a library that is initialized first, which itself reads the same variable. */
#include <mpi.h>
#include <stdio.h>

extern __thread int of_this_thread;
int first_library(void);

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    printf("first_library_tool: %d at start, now %d\n", first_library(), of_this_thread);
    fflush(stdout);
    return PMPI_Init_thread(argc, argv, required, provided);
}

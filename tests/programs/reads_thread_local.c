//# role: companion
//# lang: c
//# mpi: both
/* reads_thread_local: a tool that reads a thread-local variable of the program (has_thread_local.c). */
#include <mpi.h>
#include <stdio.h>

extern __thread int of_this_thread;

int MPI_Init(int *argc, char ***argv)
{
    printf("reads_thread_local: %d\n", of_this_thread);
    return PMPI_Init(argc, argv);
}

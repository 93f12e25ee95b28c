//# role: companion
//# lang: c
//# mpi: both
/* reads_thread_local: a tool that reads and changes a thread-local variable of the program (has_thread_local.c), in its constructor as well. */
#include <mpi.h>
#include <stdio.h>

extern __thread int of_this_thread;
extern __thread int next_of_this_thread[4];

static int at_start;

__attribute__((constructor)) static void start(void)
{
    at_start = of_this_thread + next_of_this_thread[2];
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    printf("reads_thread_local: %d %d at start %d\n", of_this_thread, next_of_this_thread[2], at_start);
    return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Initialized(int *flag)
{
    of_this_thread++;
    next_of_this_thread[3] = of_this_thread;
    return PMPI_Initialized(flag);
}

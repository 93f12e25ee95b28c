//# role: companion
//# lang: c
//# mpi: both
/* quick_exits: a tool with handlers for quick_exit, of which one registers another. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void last(void) { fputs("quick: last\n", stdout); }

static void first(void)
{
    fputs("quick: first\n", stdout);
    at_quick_exit(last);
}

static void second(void) { fputs("quick: second\n", stdout); }

int MPI_Init(int *argc, char ***argv)
{
    at_quick_exit(first);
    int result = PMPI_Init(argc, argv);
    at_quick_exit(second);
    return result;
}

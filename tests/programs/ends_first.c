//# role: companion
//# lang: c
/* ends_first: a tool whose wrapper must not be entered once the tool has ended, as those of tools in C++ that use global objects. It ends in
 * a destructor, or with AT_EXIT in an exit handler.
 *
 * Hazard: a layer below that calls MPI_Finalize when it ends itself. What MPI calls by its public names then (ROMIO in its clean-up, or
 * a callback of the program) comes in at the top of the stack, at a tool that has ended before. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int has_ended, frees;

static void end(void)
{
    has_ended = 1;
}

#ifndef AT_EXIT
__attribute__((destructor)) static void destroy(void)
{
    end();
}
#endif

int MPI_Init(int *argc, char ***argv)
{
#ifdef AT_EXIT
    atexit(end);
#endif
    return PMPI_Init(argc, argv);
}

int MPI_Comm_free_keyval(int *keyval)
{
    static const char late[] = "ends_first: entered after its end\n";
    if (has_ended) {
        if (write(2, late, sizeof late - 1) >= 0)
            abort();
    }
    frees++;
    return PMPI_Comm_free_keyval(keyval);
}

int MPI_Finalize(void)
{
    int result = PMPI_Finalize();
    printf("ends_first: %d frees\n", frees);
    return result;
}

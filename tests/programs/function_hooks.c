//# role: companion
//# lang: c
/* function_hooks: counts the calls that -finstrument-functions inserts at the begin and the end of each function of a program. */
#include <mpi.h>
#include <stdio.h>

static int entered, left;

void __cyg_profile_func_enter(void *function, void *site)
{
    (void) function;
    (void) site;
    __atomic_add_fetch(&entered, 1, __ATOMIC_RELAXED);
}

void __cyg_profile_func_exit(void *function, void *site)
{
    (void) function;
    (void) site;
    __atomic_add_fetch(&left, 1, __ATOMIC_RELAXED);
}

int MPI_Finalize(void)
{
    fprintf(stderr, "hooks: %d entered, %d left\n", entered, left);
    return PMPI_Finalize();
}

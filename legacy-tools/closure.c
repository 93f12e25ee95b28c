//# lang: c
//# mpi: both
//# links: closure_helper.c
//# cflags: -Wl,--enable-new-dtags,-rpath,$ORIGIN
//# program: ring.c
//# expect-stdout: tool closure: ok calls=7 helper=7
/* closure: a tool in two files: some wrappers, and the calls to PMPI, are in a library that it needs.
 *
 * Hazard: large tools keep their wrappers in a library behind the one that the user names. What the tool defines
 * is what its whole closure defines, the library is private to each copy of the tool (it counts here), and the
 * two refer to each other's symbols in both directions.
 *
 * Build: mpicc -shared -fPIC -O2 closure_helper.c -o closure_helper.so
 *        mpicc -shared -fPIC -O2 closure.c -o closure.so -L. -l:closure_helper.so -Wl,-rpath,'$ORIGIN' */
#include "verdict.h"
#include <mpi.h>

extern int helper_calls; /* in the library */
int helper_barrier(MPI_Comm c);
void closure_called(void);

void closure_called(void) { count_call(); } /* called from the library */

int MPI_Barrier(MPI_Comm c)
{
    count_call();
    return helper_barrier(c);
}

int MPI_Finalize(void)
{
    int rank = -1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (helper_calls != verdict_calls)
        fail("the tool counts %d calls, its library %d", verdict_calls, helper_calls);
    verdict_with("closure", rank, "helper=%d", helper_calls);
    return PMPI_Finalize();
}

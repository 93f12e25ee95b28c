//# lang: c
//# mpi: both
//# links: closure_helper.c
//# cflags: -Wl,--enable-new-dtags,-rpath,$ORIGIN
//# program: ring.c
//# expect-stdout: tool closure: ok calls=8 helper=8 bcasts_in_helper=0
/* closure: a tool in two files: the calls to PMPI, and one wrapper, are in a library that it needs.
 *
 * Hazard: the library is private to each copy of the tool (it counts here), and the two refer to each other's symbols
 * in both directions. Its MPI_Bcast is *not* used under LD_PRELOAD: what a preloaded object needs comes after what the
 * program needs, so after MPI. Only the wrappers in the file that the user names take part.
 *
 * Build: mpicc -shared -fPIC -O2 closure_helper.c -o closure_helper.so
 *        mpicc -shared -fPIC -O2 closure.c -o closure.so -L. -l:closure_helper.so -Wl,-rpath,'$ORIGIN' */
#include "verdict.h"
#include <mpi.h>

extern int helper_calls, helper_bcasts; /* in the library */
int helper_barrier(MPI_Comm c);
int helper_send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c);
int helper_recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s);
void closure_called(void);

void closure_called(void) { count_call(); } /* called from the library */

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    return helper_send(b, n, t, to, tag, c);
}

int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
    return helper_recv(b, n, t, from, tag, c, s);
}

int MPI_Barrier(MPI_Comm c)
{
    return helper_barrier(c);
}

int MPI_Finalize(void)
{
    int rank = -1;
    helper_calls++;
    count_call();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (helper_calls != verdict_calls)
        fail("the tool counts %d calls, its library %d", verdict_calls, helper_calls);
    verdict_with("closure", rank, "helper=%d bcasts_in_helper=%d", helper_calls, helper_bcasts);
    return PMPI_Finalize();
}

//# lang: c
//# mpi: both
//# program: ring.c
//# expect-stdout: tool mpi_calls_down: ok calls=3
/* mpi_calls_down: calls MPI_..., not PMPI_..., for functions that it does not wrap.
 *
 * Hazard: preloaded, such a call binds to the MPI library, as no tool stands between. In a stack it must go to the
 * layer below, and neither be left undefined nor start again at the top. MPI_Allreduce becomes MPI_Comm_size,
 * MPI_Reduce and MPI_Bcast.
 *
 * Build: mpicc -shared -fPIC -O2 mpi_calls_down.c -o mpi_calls_down.so */
#include "verdict.h"
#include <mpi.h>

static int inside; /* not 0 while our own calls are under way: none of them may come back to us */

int MPI_Allreduce(const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c)
{
    int size = 0, rank = -1;
    count_call();
    if (inside++)
        fail("a call of the tool's own came back to it");
    MPI_Comm_size(c, &size);
    MPI_Comm_rank(c, &rank);
    if (size < 1 || rank < 0)
        fail("MPI_Comm_size says %d", size);
    /* In place: rank 0 reduces in place, the others send what is in the result's place. */
    const void *from = b == MPI_IN_PLACE && rank != 0 ? rb : b;
    int result = MPI_Reduce(from, rb, n, t, op, 0, c);
    if (result == MPI_SUCCESS)
        result = MPI_Bcast(rb, n, t, 0, c);
    inside--;
    return result;
}

int MPI_Finalize(void)
{
    int rank = -1;
    count_call();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict("mpi_calls_down", rank, "");
    return PMPI_Finalize();
}

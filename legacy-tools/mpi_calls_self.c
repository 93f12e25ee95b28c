//# lang: c
//# mpi: both
//# program: ring.c
//# expect-stdout: tool mpi_calls_self: ok calls=10
/* mpi_calls_self: calls MPI_... for functions that it wraps itself, and expects to arrive in its own wrapper.
 *
 * Hazard: a library that comes first in the lookup scope and defines MPI_Reduce takes these calls away from the
 * tool, as the tool's calls to itself go through the same lookup. The address of MPI_Reduce must be its own, too.
 *
 * Build: mpicc -shared -fPIC -O2 mpi_calls_self.c -o mpi_calls_self.so */
#define _GNU_SOURCE
#include "verdict.h"
#include <dlfcn.h>
#include <mpi.h>

static int reduces, bcasts;

int MPI_Reduce(const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c)
{
    count_call();
    reduces++;
    return PMPI_Reduce(b, rb, n, t, op, root, c);
}

int MPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c)
{
    count_call();
    bcasts++;
    return PMPI_Bcast(b, n, t, root, c);
}

int MPI_Allreduce(const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c)
{
    int rank = -1, before = reduces + bcasts;
    count_call();
    PMPI_Comm_rank(c, &rank);
    int result = MPI_Reduce(b == MPI_IN_PLACE && rank != 0 ? rb : b, rb, n, t, op, 0, c);
    if (result == MPI_SUCCESS)
        result = MPI_Bcast(rb, n, t, 0, c);
    if (reduces + bcasts != before + 2)
        fail("the tool's own call to MPI_Reduce or MPI_Bcast went elsewhere");
    return result;
}

int MPI_Finalize(void)
{
    int rank = -1;
    Dl_info reduce, self;
    count_call();
    if (!dladdr((void *)MPI_Reduce, &reduce) || !dladdr(&reduces, &self) || reduce.dli_fbase != self.dli_fbase)
        fail("the address of MPI_Reduce is not in the tool");
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict("mpi_calls_self", rank, "");
    return PMPI_Finalize();
}

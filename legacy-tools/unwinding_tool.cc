//# lang: c++
//# mpi: both
//# libs: -lpthread
//# program: unwinding.cc
//# expect-stdout: tool unwinding_tool: ok calls=1 destroyed=1
/* unwinding_tool: a tool in C++ whose wrappers have an object on the stack, which has to be destroyed however the call ends.
 *
 * Hazard: exceptions, pthread_cancel and pthread_exit unwind through the wrappers, with the unwinder of the C library or the program,
 * and through the program's frames with that of the tool.
 *
 * MPI_Comm_set_name of "throw", "throw own" and "pthread_exit" does that. `destroyed` is to be the number of calls.
 *
 * Build: mpicxx -shared -fPIC -O2 unwinding_tool.cc -o unwinding_tool.so */
#include "verdict.h"
#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <pthread.h>
#include <stdexcept>

static int destroyed;

struct Guard {
    Guard() { count_call(); }
    ~Guard() { __atomic_add_fetch(&destroyed, 1, __ATOMIC_RELAXED); }
};

/* No program or library knows this class. */
struct OwnError : std::runtime_error {
    OwnError() : std::runtime_error("a class of the tool") {}
};

extern "C" {

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    Guard guard;
    return PMPI_Send(b, n, t, to, tag, c);
}

int MPI_Reduce_local(const void *in, void *inout, int n, MPI_Datatype t, MPI_Op op)
{
    Guard guard;
    return PMPI_Reduce_local(in, inout, n, t, op);
}

int MPI_Comm_set_name(MPI_Comm c, const char *name)
{
    Guard guard;
    /* With this variable the layer leaves it to one below. */
    static const char *const passes = std::getenv("UNWINDING_PASSES");
    if (!passes && std::strcmp(name, "throw") == 0)
        throw std::runtime_error("from the tool");
    if (!passes && std::strcmp(name, "throw own") == 0)
        throw OwnError();
    if (!passes && std::strcmp(name, "pthread_exit") == 0)
        pthread_exit(&destroyed);
    return PMPI_Comm_set_name(c, name);
}

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict_with("unwinding_tool", rank, "destroyed=%d", destroyed);
    std::fflush(stdout);
    return PMPI_Finalize();
}
}

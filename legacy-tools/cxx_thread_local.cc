//# lang: c++
//# mpi: both
//# program: ring.c
//# expect-stdout: tool cxx_thread_local: ok calls=3
/* cxx_thread_local: counts in a thread-local object of C++, and reports in MPI_Finalize.
 *
 * Hazard: exit destroys the objects of its thread before it calls any exit handler. Where another tool calls MPI_Finalize in
 * such a handler, the object must still be there.
 *
 * Build: mpicxx -shared -fPIC -O2 cxx_thread_local.cc -o cxx_thread_local.so */
#include "verdict.h"
#include <map>
#include <mpi.h>
#include <string>

namespace {

bool is_destroyed = false;

struct Counts : std::map<std::string, int> {
    ~Counts() { is_destroyed = true; }
};

Counts &counts()
{
    thread_local Counts all;
    if (is_destroyed)
        fail("its thread-local object is destroyed");
    return all;
}

} // namespace

extern "C" int MPI_Init(int *argc, char ***argv)
{
    count_call();
    counts()["MPI_Init"]++;
    return PMPI_Init(argc, argv);
}

extern "C" int MPI_Barrier(MPI_Comm comm)
{
    count_call();
    counts()["MPI_Barrier"]++;
    return PMPI_Barrier(comm);
}

extern "C" int MPI_Finalize(void)
{
    int rank = -1;
    count_call();
    counts()["MPI_Finalize"]++;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict("cxx_thread_local", rank, "");
    return PMPI_Finalize();
}

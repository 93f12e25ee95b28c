//# lang: c++
//# mpi: both
//# program: ring.c
//# expect-stdout: tool cxx_exit: ok calls=3 barriers=1
/* cxx_exit: keeps its counts in a static object of C++, whose destructor reports them and then finalizes MPI.
 *
 * Hazard: the destructor is an exit handler that a constructor has registered (__cxa_atexit). It runs behind those that
 * were registered in MPI_Init, of this tool and of others; a handler of its own uses the object before.
 *
 * Build: mpicxx -shared -fPIC -O2 cxx_exit.cc -o cxx_exit.so */
#include "verdict.h"
#include <cstdlib>
#include <map>
#include <mpi.h>
#include <string>

namespace {

class Counts {
public:
    Counts() = default;
    ~Counts()
    {
        if (rank < 0)
            return; // a process that made no use of MPI, such as the launcher
        int finalized = -1;
        PMPI_Finalized(&finalized);
        if (finalized)
            fail("MPI is finalized already");
        if (!handled)
            fail("the handler has not run");
        int in = counts["MPI_Barrier"], all = 0;
        if (!finalized) {
            PMPI_Allreduce(&in, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
            PMPI_Finalize();
        }
        verdict_with("cxx_exit", rank, "barriers=%d", all);
    }
    std::map<std::string, int> counts;
    int rank = -1;
    bool handled = false;
};

Counts all;

void handler()
{
    all.handled = all.counts.count("MPI_Init") != 0;
}

} // namespace

extern "C" int MPI_Init(int *argc, char ***argv)
{
    count_call();
    all.counts["MPI_Init"]++;
    if (atexit(handler) != 0)
        fail("atexit");
    return PMPI_Init(argc, argv);
}

extern "C" int MPI_Barrier(MPI_Comm comm)
{
    count_call();
    all.counts["MPI_Barrier"]++;
    return PMPI_Barrier(comm);
}

extern "C" int MPI_Finalize(void)
{
    count_call();
    all.counts["MPI_Finalize"]++;
    PMPI_Comm_rank(MPI_COMM_WORLD, &all.rank);
    return MPI_SUCCESS;
}

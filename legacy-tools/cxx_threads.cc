//# lang: c++
//# mpi: both
//# cflags: -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX
//# program: ring.c
//# expect-stdout: tool cxx_threads: ok calls=2
/* cxx_threads: uses threads of C++, and is not linked with the library of threads.
 *
 * Hazard: before glibc 2.34 that is a library of its own. The headers of libstdc++ and libstdc++ itself refer to it by weak
 * references, and if these are null, std::call_once and std::thread throw. In an MPI process they are not, as MPI brings the library.
 *
 * Build: mpicxx -shared -fPIC -O2 cxx_threads.cc -o cxx_threads.so */
#include "verdict.h"
#include <exception>
#include <mpi.h>
#include <mutex>
#include <thread>

static std::once_flag once;
static std::mutex mutex;
static int once_calls, thread_calls;

static void threads()
{
    try {
        std::call_once(once, [] { once_calls++; });
        std::thread thread([] {
            std::lock_guard<std::mutex> lock(mutex);
            thread_calls++;
        });
        thread.join();
    } catch (const std::exception &error) {
        fail(error.what());
    }
}

extern "C" int MPI_Init(int *argc, char ***argv)
{
    count_call();
    threads();
    return PMPI_Init(argc, argv);
}

extern "C" int MPI_Finalize(void)
{
    int rank = -1;
    count_call();
    threads();
    if (once_calls != 1 || thread_calls != 2)
        fail("not one call of call_once and two threads");
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict("cxx_threads", rank, "");
    return PMPI_Finalize();
}

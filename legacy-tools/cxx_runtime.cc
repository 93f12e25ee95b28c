//# lang: c++
//# mpi: both
//# cflags: -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX
//# libs: -lpthread
//# program: ring.c cxx_app.cc
//# expect-stdout: cxx_runtime: 4 functions, by std::cout
//# expect-stdout: tool cxx_runtime: ok calls=5
/* cxx_runtime: uses the C++ runtime at every turn.
 *
 * Hazard: exceptions need the unwinder to find this object and the C library's frames, iostreams and locales
 * need one stdio and one locale, thread_local destructors and std::call_once need one libc for all threads,
 * and the verdict comes from a static destructor, after main.
 *
 * Build: mpicxx -shared -fPIC -O2 cxx_runtime.cc -o cxx_runtime.so -lpthread */
#include "verdict.h"
#include <atomic>
#include <functional>
#include <iostream>
#include <locale>
#include <map>
#include <mpi.h>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

std::atomic<int> thread_ends { 0 };
std::once_flag once;
int once_calls = 0;

struct ThreadEnd {
    std::string alive = "a string too long to be stored without an allocation";
    ~ThreadEnd() { thread_ends += alive.size() > 20; }
};
thread_local ThreadEnd thread_end;

/* Reports when the library goes, if MPI was used: the launcher, too, may have been preloaded with us. */
struct Report {
    std::mutex mutex;
    std::map<std::string, int> calls;
    int rank = -1;
    ~Report()
    {
        if (rank < 0)
            return;
        std::cout << std::flush;
        if (calls["MPI_Finalize"] != 1)
            fail("the map lost its counts");
        verdict("cxx_runtime", rank, "");
    }
} report;

int throwing(const char *function, const std::function<int()> &call)
{
    count_call();
    {
        std::lock_guard<std::mutex> lock(report.mutex);
        report.calls[function]++;
    }
    std::call_once(once, [] { once_calls++; });
    std::string thrown;
    try {
        std::function<void()> deep = [&] { throw std::runtime_error(function); };
        deep();
    } catch (const std::exception &e) {
        thrown = e.what();
    }
    if (thrown != function)
        fail("lost an exception in %s", function);
    return call();
}

void check_numbers()
{
    bool refused = false;
    try {
        std::stod("not a number");
    } catch (const std::invalid_argument &) {
        refused = true;
    }
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text << std::stod("2.5") << ' ' << std::stoi("17");
    if (!refused || text.str() != "2.5 17")
        fail("numbers: '%s'", text.str().c_str());
}

void check_threads()
{
    bool caught = false;
    std::thread([&] {
        thread_end.alive += '!';
        try {
            throw 42;
        } catch (int n) {
            caught = n == 42 && std::isdigit('7', std::locale());
        }
    }).join();
    if (!caught)
        fail("no exception in a thread");
    if (thread_ends != 1)
        fail("%d thread_local destructors ran", thread_ends.load());
}

} // namespace

extern "C" int MPI_Init(int *argc, char ***argv)
{
    check_numbers();
    check_threads();
    return throwing("MPI_Init", [=] { return PMPI_Init(argc, argv); });
}

extern "C" int MPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c)
{
    return throwing("MPI_Bcast", [=] { return PMPI_Bcast(b, n, t, root, c); });
}

extern "C" int MPI_Allreduce(const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c)
{
    return throwing("MPI_Allreduce", [=] { return PMPI_Allreduce(b, rb, n, t, op, c); });
}

extern "C" int MPI_Finalize()
{
    PMPI_Comm_rank(MPI_COMM_WORLD, &report.rank);
    int result = throwing("MPI_Finalize", [] { return PMPI_Finalize(); });
    if (once_calls != 1)
        fail("std::call_once ran %d times", once_calls);
    if (report.rank == 0)
        std::cout << "cxx_runtime: " << report.calls.size() << " functions, by std::cout\n";
    return result;
}

//# lang: c++
//# mpi: both
//# cflags: -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX
//# libs: -lpthread
//# ranks: 2
//# expect-stdout: cxx_app: sum 12 caught 'odd' 2.5
/* A C++ program with exceptions, threads and iostreams of its own, and MPI in a destructor. */
#include <iostream>
#include <mpi.h>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Session { // MPI_Finalize comes from the destructor, also when an exception passes
    int rank = -1;
    Session(int *argc, char ***argv)
    {
        MPI_Init(argc, argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    }
    ~Session() { MPI_Finalize(); }
};

int sum_of(const std::vector<int> &values)
{
    int mine = std::accumulate(values.begin(), values.end(), 0), all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (mine % 2)
        throw std::domain_error("odd");
    return all;
}

} // namespace

int main(int argc, char **argv)
{
    Session session(&argc, &argv);
    int sum = sum_of({ 1, 2, 3 });
    std::string caught;
    try {
        sum_of({ 1 });
    } catch (const std::domain_error &e) {
        caught = e.what();
    }
    double half = 0;
    std::thread([&] { half = std::stod("2.5"); }).join();
    MPI_Bcast(&half, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (session.rank == 0)
        std::cout << "cxx_app: sum " << sum << " caught '" << caught << "' " << half << std::endl;
    return 0;
}

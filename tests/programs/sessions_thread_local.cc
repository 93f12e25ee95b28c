//# role: companion
//# lang: c++
// A tool that uses a thread-local object in MPI_Finalize.
#include <mpi.h>
#include <cstdio>

struct Calls {
    int inits = 0;
    bool is_destroyed = false;
    ~Calls() { is_destroyed = true; }
};

static thread_local Calls calls;

extern "C" int MPI_Init(int *argc, char ***argv) {
    calls.inits++;
    return PMPI_Init(argc, argv);
}

extern "C" int MPI_Finalize() {
    std::printf("thread_local: %d MPI_Init, %s\n", calls.inits, calls.is_destroyed ? "destroyed" : "there");
    return PMPI_Finalize();
}

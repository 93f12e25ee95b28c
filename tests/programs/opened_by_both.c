//# role: companion
//# lang: c
//# mpi: both
//# libs: -ldl
/* opened_by_both LIBRARY: opens a library and closes it, three times; meanwhile the tool opens it as well. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int i = 0; argc > 1 && i < 3; i++) {
        void *library = dlopen(argv[1], RTLD_NOW);
        if (!library) {
            puts(dlerror());
            return 1;
        }
        MPI_Barrier(MPI_COMM_WORLD);
        dlclose(library);
    }
    MPI_Finalize();
    return 0;
}

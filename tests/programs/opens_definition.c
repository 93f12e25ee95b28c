//# role: companion
//# lang: c
//# mpi: both
//# libs: -ldl
/* opens_definition LIBRARY: opens a library for all to see, then makes a call that a tool may need a function of that library for. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int size = -1;
    if (argc < 2 || !dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL))
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Finalize();
    printf("opens_definition: %d\n", size);
    return 0;
}

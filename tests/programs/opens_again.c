//# role: companion
//# lang: c
//# mpi: both
//# libs: -ldl
/* A program that opens a library, calls it and closes it, three times: opens_again LIBRARY. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    const void *first = NULL;
    int same = 0;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 3; i++) {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        int (*has_parent)(void) = library ? (int (*)(void))dlsym(library, "opens_again_part") : NULL;
        if (!has_parent || !has_parent())
            return 1;
        same += first == (const void *)has_parent;
        first = (const void *)has_parent;
        if (dlclose(library) != 0)
            return 1;
    }
    printf("opens_again: %d times at the same place\n", same);
    MPI_Finalize();
    return 0;
}

//# lang: c
//# mpi: both
//# needs-mpi: no
//# companion: late_part.c
//# cflags: -Wl,-rpath,$ORIGIN
//# libs: -ldl
//# ranks: 2
//# args: local
//# expect-stdout: late_part: sum 1
//# expect-stdout: late_open: status 0
//# args: global
//# expect-stdout: late_part: sum 1
//# expect-stdout: late_open: status 0
/* A program that has nothing to do with MPI, until it opens a library that has: as Python does with mpi4py. The
 * argument says whether the library's symbols, and so MPI's, become global or stay local. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int global = argc > 1 && strcmp(argv[1], "global") == 0;
    void *library = dlopen("late_part.so", RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
    int (*run)(int *) = library ? (int (*)(int *))dlsym(library, "late_part_run") : NULL;
    if (!run) {
        fprintf(stderr, "late_open: %s\n", dlerror());
        return 1;
    }
    int rank = -1, status = run(&rank);
    if (rank == 0)
        printf("late_open: status %d\n", status);
    return status;
}

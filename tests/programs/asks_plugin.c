//# role: companion
//# lang: c
//# mpi: both
//# libs: -ldl
/* asks_plugin: does the program find a function of the plugin that a tool opened with RTLD_GLOBAL (legacy-tools/dlopen_global.c), and does
 * a library of the program that refers to it (needs_plugin.c, the argument)? */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int (*function)(int) = (int (*)(int)) dlsym(RTLD_DEFAULT, "plugin_fn");
    printf("asks_plugin: %s\n", function && function(1) == 2 ? "found" : "not found");
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int (*through)(int) = library ? (int (*)(int))dlsym(library, "through_plugin") : NULL;
    printf("asks_plugin: library %s\n", !library ? "not opened" : through && through(1) == 2 ? "works" : "does not work");
    MPI_Finalize();
    return 0;
}

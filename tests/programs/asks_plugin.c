//# role: companion
//# lang: c
//# mpi: both
//# libs: -ldl
/* asks_plugin: does the program find a function of the plugin that a tool opened with RTLD_GLOBAL (legacy-tools/dlopen_global.c)? */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    printf("asks_plugin: %s\n", dlsym(RTLD_DEFAULT, "plugin_fn") ? "found" : "not found");
    MPI_Finalize();
    return 0;
}

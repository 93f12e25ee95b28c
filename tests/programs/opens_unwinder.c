//# role: companion
//# lang: c
//# mpi: both
/* A tool in C that opens the C++ library, and says how often the process then has the unwinder that this needs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int copies(void)
{
    char line[4096];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long offset = 1;
        if (strstr(line, "/libgcc_s") && sscanf(line, "%*s %*s %lx", &offset) == 1 && offset == 0) count++;
    }
    if (maps) fclose(maps);
    return count;
}

__attribute__((constructor)) static void open_it(void)
{
    void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
    void *frames[4];
    backtrace(frames, 4); /* glibc opens the process's, if it has none yet */
    printf("opens_unwinder: libstdc++ %s, unwinders %d\n", library ? "open" : dlerror(), copies());
    fflush(stdout);
}

int MPI_Finalize(void)
{
    return PMPI_Finalize();
}

//# role: companion
//# lang: c
//# mpi: both
//# libs: -ldl
/* asks_plugin_again: can the library that is the argument (needs_plugin.c) be opened before MPI_Init, after it, and after MPI_Barrier? The
 * tool of closes_global.c opens what the library refers to in MPI_Init, and closes it in MPI_Barrier. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static const char *opens(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    int (*through)(int) = library ? (int (*)(int))dlsym(library, "through_plugin") : NULL;
    const char *answer = !library ? "no" : through && through(1) == 2 ? "yes" : "wrong";
    if (library)
        dlclose(library);
    return answer;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    const char *before = opens(argv[1]);
    MPI_Init(&argc, &argv);
    const char *between = opens(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("asks_plugin_again: %s %s %s\n", before, between, opens(argv[1]));
    MPI_Finalize();
    return 0;
}

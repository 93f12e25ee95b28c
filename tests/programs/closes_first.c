//# role: companion
//# lang: c
//# mpi: both
//# needs-mpi: no
//# libs: -ldl
/* closes_first PLAIN USES_MPI: opens a library without MPI and one with it, lets that initialize MPI, closes the first one, and goes on. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *first = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void *mpi = argc > 2 ? dlopen(argv[2], RTLD_NOW) : NULL;
    if (!first || !mpi) {
        puts(dlerror());
        return 1;
    }
    void (*begin)(void) = (void (*)(void))dlsym(mpi, "closes_first_begin");
    void (*end)(void) = (void (*)(void))dlsym(mpi, "closes_first_end");
    begin();
    dlclose(first);
    end();
    fputs("closes_first: done\n", stdout);
    return 0;
}

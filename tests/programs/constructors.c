//# role: companion
//# lang: c
//# mpi: both
//# links: constructors_part.c
//# cflags: -Wl,-rpath,$ORIGIN
//# libs: -ldl
/* A program with a library whose constructor calls getppid, which opens another before MPI_Init: constructors LIBRARY. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int constructors_part(void);

int main(int argc, char **argv)
{
    void *late = dlopen(argv[1], RTLD_LAZY);
    MPI_Init(&argc, &argv);
    printf("constructors: late %s, pointers %d\n", late ? "open" : dlerror(), constructors_part());
    MPI_Finalize();
    return 0;
}

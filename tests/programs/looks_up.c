//# role: companion
//# lang: c
//# mpi: both
//# libs: -ldl
/* looks_up: looks names up by dlsym in each way, for a tool that wraps it (wraps_look_ups.c). All answers are 1. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("looks_up: pointer %d\n", dlsym(RTLD_DEFAULT, "MPI_Comm_rank") == (void *)MPI_Comm_rank);
    int (*found)(MPI_Comm, int *) = (int (*)(MPI_Comm, int *))dlsym(dlopen(NULL, RTLD_NOW), "MPI_Comm_size");
    printf("looks_up: call %d\n", found && found(MPI_COMM_WORLD, &size) == MPI_SUCCESS && size == 1);
    printf("looks_up: library %d\n", dlsym(dlopen("libc.so.6", RTLD_NOW), "getenv") == (void *)getenv);
    printf("looks_up: next %d\n", dlsym(RTLD_NEXT, "getpid") == (void *)getpid);
    printf("looks_up: nothing %d\n", dlsym(RTLD_DEFAULT, "a name that nothing has") == NULL && dlerror() != NULL);
    MPI_Finalize();
    return 0;
}

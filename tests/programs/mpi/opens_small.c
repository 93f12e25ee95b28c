//# role: companion
//# lang: c
//# mpi: mpich
//# needs-mpi: no
/* Opens the small MPI (qmpi_mpi.c) for itself alone, as an extension module of Python does, and sends 10 messages to nowhere. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(void)
{
    void *mpi = dlopen("libmpich.so.12", RTLD_NOW | RTLD_LOCAL);
    int (*init)(int *, char ***), (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm), (*finalize)(void);
    if (!mpi || !(init = dlsym(mpi, "MPI_Init")) || !(send = dlsym(mpi, "MPI_Send"))
        || !(finalize = dlsym(mpi, "MPI_Finalize"))) {
        puts(dlerror());
        return 1;
    }
    int value = 1, sent = 0;
    init(NULL, NULL);
    for (int i = 0; i < 10; i++)
        sent += send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD) == MPI_SUCCESS;
    finalize();
    printf("opens_small: %d messages\n", sent);
    return 0;
}

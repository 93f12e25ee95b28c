//# role: companion
//# lang: c
//# mpi: both
//# needs-mpi: no
//# companion: opened_part.c
//# libs: -ldl -lpthread
/* Threads that open a library, look functions up, and close it again, in a loop: opens_in_threads ROUNDS LIBRARY...
 *
 * Each library has a thread. A library leaves the process at each dlclose, so whatever walks the list of loaded objects
 * without the dynamic linker's lock meets one that is being unmapped. With WITH_MPI, between MPI_Init and MPI_Finalize. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

static int rounds, wrong;

static void *open_and_close(void *path)
{
    for (int i = 0; i < rounds; i++) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        int (*part)(void) = library ? (int (*)(void))dlsym(library, "opened_part") : NULL;
        int found = part != NULL && part() == 7;
        /* A name of MPI, in a library that has none; a local library's name, in the global scope; a name of the base. */
        found = found && !dlsym(library, "MPI_Qmpi_no_such_function") && !dlsym(RTLD_DEFAULT, "opened_part");
        found = found && dlsym(RTLD_DEFAULT, "getpid") && dlsym(library, "opened_part") == (void *)part;
        if (!found || dlclose(library) != 0)
            __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[16];
    int count = argc - 2;
    if (argc < 3 || count > 16)
        return 2;
    rounds = atoi(argv[1]);
    alarm(100); /* a deadlock ends in time */
#ifdef WITH_MPI
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
#endif
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, open_and_close, argv[2 + i]);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
#ifdef WITH_MPI
    MPI_Finalize();
#endif
    printf("opens_in_threads: %d threads, %d wrong\n", count, wrong);
    return 0;
}

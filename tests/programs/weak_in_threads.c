//# role: companion
//# lang: c
//# mpi: both
//# needs-mpi: no
//# cflags: -pthread
//# libs: -ldl
/* weak_in_threads ROUNDS FIRST SECOND: a program without MPI. Two threads open a library each, ask it whether a function of MPI is there, to
 * which it has a weak reference, and close it. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int rounds;

static void *work(void *path)
{
    long found = 0;
    for (int i = 0; i < rounds; i++) {
        void *library = dlopen(path, RTLD_NOW);
        int (*has)(void) = library ? (int (*)(void))dlsym(library, "weak_in_threads_part") : NULL;
        if (!has) {
            puts(dlerror());
            exit(1);
        }
        found += has();
        dlclose(library);
    }
    return (void *)found;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    void *found[2];
    rounds = argc > 3 ? atoi(argv[1]) : 0;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, argv[i + 2]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], &found[i]);
    printf("weak_in_threads: found %ld and %ld times\n", (long)found[0], (long)found[1]);
    return 0;
}

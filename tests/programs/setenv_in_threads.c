//# role: companion
//# lang: c
//# mpi: both
//# cflags: -pthread
/* setenv_in_threads: threads that set variables at the same time, which the C library serializes; each finds its own afterwards. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 2000 };

static void *work(void *number)
{
    char name[64];
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(name, sizeof name, "T%ld_%d", (long)number, i);
        setenv(name, "value", 1);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int found = 0;
    char name[64];
    MPI_Init(&argc, &argv);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS * ROUNDS; i++) {
        snprintf(name, sizeof name, "T%d_%d", i / ROUNDS, i % ROUNDS);
        found += getenv(name) != NULL;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    printf("setenv_in_threads: %d found\n", found);
    MPI_Finalize();
    return 0;
}

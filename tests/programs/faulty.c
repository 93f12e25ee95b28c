//# role: companion
//# lang: c
//# mpi: both
//# needs-mpi: no
//# libs: -lpthread
/* A program for sanitizers: faulty [race|overflow|undefined|leak], or nothing wrong. Its status is 5.
 *
 * With WITH_MPI (faulty_mpi.c) it does that between MPI_Init and MPI_Finalize, in a thread that is not the first. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

/* Volatile: each turn of the loop is an access of its own, or the two threads have one each, which a sanitizer sees in most runs only. */
static volatile int shared;
static int biggest = 0x7fffffff;
static void *volatile lost;

static void *races(void *unused)
{
    for (int i = 0; i < 1000; i++)
        shared++;
    return unused;
}

static void *misbehaves(void *which)
{
    pthread_t thread;
    if (strcmp(which, "race") == 0) {
        pthread_create(&thread, NULL, races, NULL);
        races(NULL);
        pthread_join(thread, NULL);
    } else if (strcmp(which, "overflow") == 0) {
        volatile char *block = malloc(8);
        block[8] = 1;
        free((void *)block);
    } else if (strcmp(which, "undefined") == 0) {
        biggest += 1 + shared;
    } else if (strcmp(which, "leak") == 0) {
        lost = malloc(1234);
        memset(lost, 1, 1234);
        lost = NULL;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    alarm(20); /* a deadlock ends in time */
#ifdef WITH_MPI
    int provided, size = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 1)
        return 1;
#endif
    pthread_create(&thread, NULL, misbehaves, argc > 1 ? argv[1] : "");
    pthread_join(thread, NULL);
#ifdef WITH_MPI
    MPI_Finalize();
#endif
    fputs("faulty: done\n", stdout);
    return 5;
}

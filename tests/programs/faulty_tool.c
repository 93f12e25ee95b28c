//# role: companion
//# lang: c
//# mpi: both
//# libs: -lpthread
/* faulty_tool: a PMPI tool for sanitizers; in MPI_Comm_size it does what FAULTY_TOOL says: race, overflow, undefined, leak. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile int shared; /* volatile: see faulty.c */
static int calls, biggest = 0x7fffffff;
static void *volatile lost;

static void *races(void *unused)
{
    for (int i = 0; i < 1000; i++)
        shared++;
    return unused;
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    const char *which = getenv("FAULTY_TOOL");
    pthread_t thread;
    calls++;
    if (which && strcmp(which, "race") == 0) {
        pthread_create(&thread, NULL, races, NULL);
        races(NULL);
        pthread_join(thread, NULL);
    } else if (which && strcmp(which, "overflow") == 0) {
        volatile char *block = malloc(8);
        block[8] = 1;
        free((void *)block);
    } else if (which && strcmp(which, "undefined") == 0) {
        biggest += 1 + shared;
    } else if (which && strcmp(which, "leak") == 0) {
        lost = malloc(1234);
        memset(lost, 1, 1234);
        lost = NULL;
    }
    return PMPI_Comm_size(comm, size);
}

int MPI_Finalize(void)
{
    printf("faulty_tool: calls=%d\n", calls);
    return PMPI_Finalize();
}

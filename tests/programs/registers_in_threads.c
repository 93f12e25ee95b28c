//# role: companion
//# lang: c
//# mpi: both
//# libs: -lpthread
/* registers_in_threads: a tool whose threads register exit handlers at once; each runs once. */
#include "../../legacy-tools/verdict.h"
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 8, HANDLERS = 500 };
static int handled, rank = -1;

static void handler(void) { __atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED); }

static void *registers(void *unused)
{
    (void)unused;
    for (int times = 0; times < HANDLERS; times++)
        if (atexit(handler) != 0)
            fail("atexit");
    return NULL;
}

int MPI_Init(int *argc, char ***argv)
{
    pthread_t threads[THREADS];
    count_call();
    int result = PMPI_Init(argc, argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int number = 0; number < THREADS; number++)
        pthread_create(&threads[number], NULL, registers, NULL);
    for (int number = 0; number < THREADS; number++)
        pthread_join(threads[number], NULL);
    return result;
}

__attribute__((destructor)) static void end(void)
{
    if (rank < 0)
        return;
    if (handled != THREADS * HANDLERS)
        fail("%d handlers ran", handled);
    verdict("registers_in_threads", rank, "");
}

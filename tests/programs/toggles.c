//# lang: c
//# mpi: both
//# libs: -lpthread
//# ranks: 1
//# args: 0
//# expect-stdout: toggles: done
/* Eight threads call MPI while a ninth switches layer 2 off and on, so many times as the argument says. Says how often the program
 * called each function. */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

extern int QMPIX_Tool_enable(int tool_id) __attribute__((weak));
extern int QMPIX_Tool_disable(int tool_id) __attribute__((weak));

enum { THREADS = 8, LEAST = 200 };
static atomic_int is_over;
static atomic_llong ranks, sends, receives, waits, waitalls, dups;
static MPI_Comm comms[THREADS];

static void *exchange(void *argument)
{
    MPI_Comm comm = *(MPI_Comm *)argument, other;
    for (int i = 0; i < LEAST || !is_over; i++) {
        MPI_Request requests[2];
        int in = -1, rank;
        for (int k = 0; k < 20; k++)
            MPI_Comm_rank(comm, &rank);
        ranks += 20;
        /* In this order: an MPI may have one handle for all requests that are complete from the start. */
        MPI_Issend(&i, 1, MPI_INT, 0, 1, comm, &requests[1]);
        MPI_Irecv(&in, 1, MPI_INT, 0, 1, comm, &requests[0]);
        sends++;
        receives++;
        if (i % 2) {
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            waitalls++;
        } else {
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            waits += 2;
        }
        if (in != i) {
            fprintf(stderr, "toggles: %d received, not %d\n", in, i);
            abort();
        }
        if (i % 64 == 0) {
            MPI_Comm_dup(comm, &other);
            MPI_Comm_free(&other);
            dups++;
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int provided, count = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
    dups += THREADS;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, exchange, &comms[i]);
    for (int i = 0; i < count; i++) {
        if ((i % 2 ? QMPIX_Tool_enable(2) : QMPIX_Tool_disable(2)) != MPI_SUCCESS) {
            fprintf(stderr, "toggles: layer 2 cannot be switched\n");
            abort();
        }
        /* The layer is off in the one case and on in the other. */
        if (i % 1000 == 250 || i % 1000 == 751)
            sched_yield();
    }
    is_over = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&comms[i]);
    if (count)
        printf("calls: MPI_Comm_rank=%lld MPI_Comm_dup=%lld MPI_Comm_free=%lld MPI_Issend=%lld MPI_Irecv=%lld MPI_Wait=%lld "
               "MPI_Waitall=%lld\n",
               (long long)ranks, (long long)dups, (long long)dups, (long long)sends, (long long)receives, (long long)waits,
               (long long)waitalls);
    fputs("toggles: done\n", stdout);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

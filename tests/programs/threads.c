//# lang: c
//# mpi: both
//# libs: -lpthread
//# ranks: 2
//# args: neighbour
//# expect-stdout: threads neighbour: 800 messages
//# args: self
//# expect-stdout: threads self: 800 messages
//# args: probe
//# expect-stdout: threads probe: 800 messages
/* MPI_THREAD_MULTIPLE: eight threads on each rank, each with a tag of its own, send a hundred messages to the next
 * rank, to their own rank, or look for each message with MPI_Iprobe before they receive it. */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 8, MESSAGES = 100 };
static int rank, size, to, from, probing;
static _Atomic int received;

static void *exchange(void *argument)
{
    int tag = *(int *)argument;
    for (int i = 0; i < MESSAGES; i++) {
        int in = -1, out = 1000 * tag + i, there = 0;
        MPI_Request request;
        if (probing) {
            MPI_Isend(&out, 1, MPI_INT, to, tag, MPI_COMM_WORLD, &request);
            while (!there) {
                MPI_Iprobe(from, tag, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
                if (!there)
                    sched_yield();
            }
            MPI_Recv(&in, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Irecv(&in, 1, MPI_INT, from, tag, MPI_COMM_WORLD, &request);
            MPI_Send(&out, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        received += in == 1000 * tag + i;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int tags[THREADS], provided;
    const char *mode = argc > 1 ? argv[1] : "neighbour";
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        fputs("threads: this MPI has no MPI_THREAD_MULTIPLE\n", stdout);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int self = strcmp(mode, "self") == 0;
    probing = strcmp(mode, "probe") == 0;
    to = self ? rank : (rank + 1) % size;
    from = self ? rank : (rank + size - 1) % size;
    for (int t = 0; t < THREADS; t++) {
        tags[t] = t;
        pthread_create(&threads[t], NULL, exchange, &tags[t]);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("threads %s: %d messages\n", mode, received);
    MPI_Finalize();
    return 0;
}

//# role: companion
//# lang: c
//# mpi: both
/* Nothing of it is twice the same: rank 0 receives from any source, polls, prints times, its process id and addresses, and writes files with
 * the process id in their names. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, done = 0, polls = 0, value;
    char name[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double from = MPI_Wtime();
    for (int round = 0; round < 20; round++) {
        if (rank > 0) {
            usleep((getpid() + round) % 7 * 30);
            MPI_Send(&round, 1, MPI_INT, 0, round % 2, MPI_COMM_WORLD);
            continue;
        }
        for (int i = 1; i < size; i++) {
            MPI_Status status;
            MPI_Request request;
            MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
            for (done = 0; !done; polls++)
                MPI_Test(&request, &done, &status);
            printf("got %d from %d\n", value, status.MPI_SOURCE);
        }
    }
    printf("rank %d: %d polls, %f seconds, process %d, at %p\n", rank, polls, MPI_Wtime() - from, getpid(), (void *)name);
    snprintf(name, sizeof name, "result.%d.%d.txt", rank, getpid());
    FILE *file = fopen(name, "w");
    fprintf(file, "rank %d\n%d\n", rank, polls);
    fclose(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

//# lang: c
//# mpi: both
//# ranks: 4
//# expect-stdout: ring: 3 trips, token 18
//# expect-stdout: bcast: 42 everywhere
//# expect-stdout: reduce: 6
//# expect-stdout: allreduce: 10 in place 10
//# expect-stdout: sendrecv: 3
//# expect-stdout: nonblocking: 4 integers
//# expect-stdout: done
/* The program most tests run: a little of everything, the same lines from rank 0 in every run. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    double start = MPI_Wtime();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;

    /* Every rank adds its number, three times round; not if alone, as MPI_Send to oneself may wait forever. */
    int token = 0;
    for (int trip = 0; trip < 3 && size > 1; trip++) {
        if (rank != 0)
            MPI_Recv(&token, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        token += rank;
        MPI_Send(&token, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
        if (rank == 0)
            MPI_Recv(&token, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }

    int data = rank == 0 ? 42 : 0, wrong = 0, sum = 0;
    MPI_Bcast(&data, 1, MPI_INT, 0, MPI_COMM_WORLD);
    data = data == 42 ? 0 : 1;
    MPI_Reduce(&data, &wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);

    int one = rank + 1, all = 0, in_place = rank + 1, neighbour = -1;
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &in_place, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Sendrecv(&rank, 1, MPI_INT, next, 2, &neighbour, 1, MPI_INT, before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

    MPI_Comm dup;
    MPI_Request requests[2];
    MPI_Status status;
    int out[4] = { rank, rank, rank, rank }, in[8], count = -1;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Irecv(in, 8, MPI_INT, before, 3, dup, &requests[0]);
    MPI_Isend(out, 4, MPI_INT, next, 3, dup, &requests[1]);
    MPI_Wait(&requests[0], &status);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Get_count(&status, MPI_INT, &count);
    MPI_Comm_free(&dup);

    if (rank == 0) {
        printf("ring: 3 trips, token %d\n", token);
        printf("bcast: 42 %s\n", wrong ? "NOT everywhere" : "everywhere");
        printf("reduce: %d\n", sum);
        printf("allreduce: %d in place %d\n", all, in_place);
        printf("sendrecv: %d\n", neighbour);
        printf("nonblocking: %d integers\n", count);
        fputs(MPI_Wtime() >= start ? "done\n" : "MPI_Wtime runs backwards\n", stdout);
    }
    MPI_Finalize();
    return 0;
}

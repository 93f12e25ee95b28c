//# lang: c
//# mpi: both
//# ranks: 1
//# expect-stdout: alone: allreduce 1 in place 1
//# expect-stdout: alone: received 7
//# expect-stdout: alone: done
/* A single process calls the functions that most tools wrap: the program of tests that start thousands of processes. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank = -1, size = 0, one = 1, all = 0, in_place = 1, received = 0, none = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Send(&one, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    MPI_Recv(&none, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &in_place, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);

    MPI_Request requests[2];
    int seven = 7;
    MPI_Irecv(&received, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&seven, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    printf("alone: allreduce %d in place %d\n", all, in_place);
    printf("alone: received %d\n", received);
    fputs(rank == 0 && size == 1 && none == 0 ? "alone: done\n" : "alone: not alone\n", stdout);
    MPI_Finalize();
    return 0;
}

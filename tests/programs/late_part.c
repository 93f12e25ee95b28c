//# role: companion
//# lang: c
//# mpi: both
/* The part of late_open.c that uses MPI: a shared object linked with it. */
#include <mpi.h>
#include <stdio.h>

int late_part_run(int *rank);

int late_part_run(int *rank)
{
    int size, sum = 0, in = -1;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (*rank != 0)
        MPI_Send(rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    for (int i = 1; *rank == 0 && i < size; i++) {
        MPI_Recv(&in, 1, MPI_INT, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum += in;
    }
    if (*rank == 0)
        printf("late_part: sum %d\n", sum);
    return MPI_Finalize();
}

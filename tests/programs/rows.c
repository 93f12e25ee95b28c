//# lang: c
//# mpi: both
//# ranks: 4
//# expect-stdout: rows: 2 processes in a row, sum 1, all 4
/* A program with two kinds of communicator: rows of processes, and all of them. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, row_size, in_row, sum = 0, all = 0;
    MPI_Comm row;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &row);
    MPI_Comm_set_name(row, "rows");
    MPI_Comm_rank(row, &in_row);
    MPI_Comm_size(row, &row_size);
    for (int i = 0; i < 3; i++)
        MPI_Allreduce(&in_row, &sum, 1, MPI_INT, MPI_SUM, row);
    MPI_Bcast(&sum, 1, MPI_INT, 0, row);
    int one = 1;
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("rows: %d processes in a row, sum %d, all %d\n", row_size, sum, all);
    MPI_Finalize();
    return 0;
}

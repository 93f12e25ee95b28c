//# lang: c
//# mpi: both
//# ranks: 4
//# expect-stdout: grid: rows 2 of 2, columns 2 of 2, renamed 2
/* A program with communicators of two names, rows and columns of a grid of processes, which come, change their names and go:
 * a handle may come again for another communicator. */
#include <mpi.h>
#include <stdio.h>

static int sum_of_ones(MPI_Comm comm, int times)
{
    int one = 1, sum = 0;
    for (int i = 0; i < times; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum;
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Comm row, column;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &row);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &column);
    MPI_Barrier(row); /* has no name yet */
    MPI_Comm_set_name(row, "rows");
    MPI_Comm_set_name(column, "columns");
    int in_row = sum_of_ones(row, 3);
    int in_column = sum_of_ones(column, 2);
    MPI_Bcast(&in_row, 1, MPI_INT, 0, row);

    /* A copy has no name; then it is a column. */
    MPI_Comm copy;
    MPI_Comm_dup(row, &copy);
    MPI_Barrier(copy);
    MPI_Comm_set_name(copy, "columns");
    int renamed = sum_of_ones(copy, 1);
    MPI_Comm_free(&copy);

    /* These may get the handles that are free again. */
    MPI_Comm_free(&row);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &row);
    MPI_Barrier(row);
    MPI_Comm_free(&row);
    MPI_Comm_free(&column);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("grid: rows %d of 2, columns %d of 2, renamed %d\n", in_row, in_column, renamed);
    MPI_Finalize();
    return 0;
}

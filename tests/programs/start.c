//# lang: c
//# mpi: both
//# ranks: 2
//# expect-stdout: start: 2 ranks
//# expect-stdout: done
/* Starts and ends, without a message: for ranks that take each other for strangers. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0)
        printf("start: %d ranks\ndone\n", size);
    MPI_Finalize();
    return 0;
}

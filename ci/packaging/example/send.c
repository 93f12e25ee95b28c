/* Rank 0 sends three messages to the last rank. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size, data = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 3 && size > 1; i++) {
        if (rank == 0)
            MPI_Send(&data, 1, MPI_INT, size - 1, i, MPI_COMM_WORLD);
        else if (rank == size - 1)
            MPI_Recv(&data, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return MPI_Finalize();
}

//# role: companion
//# lang: c
//# mpi: both
/* Prints the size of MPI_COMM_WORLD. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int size = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Finalize();
    printf("asks_size: %d\n", size);
    return 0;
}

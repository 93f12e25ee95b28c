//# role: companion
//# lang: c
//# mpi: mpich
/* A program that the small MPI (qmpi_mpi.c) has all functions for: 10 broadcasts, 10 messages to nowhere and 10 from there. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int value = 1, size = -1;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 10; i++) {
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    }
    for (int i = 0; i < 10; i++)
        MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Pcontrol(1);
    double time = MPI_Wtime();
    MPI_Finalize();
    printf("done: size %d, time %s\n", size, time > 0 ? "ok" : "wrong");
    return 0;
}

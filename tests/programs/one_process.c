//# lang: c
//# mpi: both
//# ranks: 1
//# expect-stdout: one: sum 5, done
/* One process, and the few functions that tests/programs/mpi/qmpi_mpi.c has. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank = -1, size = 0, five = 5, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 3; i++)
        MPI_Send(&five, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    MPI_Sendrecv(&five, 1, MPI_INT, MPI_PROC_NULL, 1, &rank, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Bcast(&five, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allreduce(&five, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    for (int i = 0; i < 2; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    printf("one: sum %d, %s\n", sum, rank == 0 && size == 1 ? "done" : "not alone");
    MPI_Finalize();
    return 0;
}

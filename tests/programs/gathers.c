//# lang: c
//# mpi: both
//# ranks: 2
//# expect-stdout: gathers: 1 2 and 1 2 2
/* MPI_Allgather and MPI_Allgatherv: functions with more arguments than there are registers. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, all[2] = { 0 }, some[3] = { 0 }, counts[2] = { 1, 2 }, displacements[2] = { 0, 1 };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int mine[2] = { rank + 1, rank + 1 };
    MPI_Allgather(mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgatherv(mine, rank + 1, MPI_INT, some, counts, displacements, MPI_INT, MPI_COMM_WORLD);
    if (rank == 0 && size == 2)
        printf("gathers: %d %d and %d %d %d\n", all[0], all[1], some[0], some[1], some[2]);
    MPI_Finalize();
    return 0;
}

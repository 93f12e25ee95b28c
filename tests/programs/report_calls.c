//# role: companion
//# lang: c
//# mpi: both
/* Calls MPI_Comm_rank 2000 times, MPI_Comm_size 500 times and MPI_Barrier 20 times on each rank. With an argument, that rank ends after
 * MPI_Finalize without its exit handlers. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 2000; i++)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 500; i++)
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 20; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        fputs("done\n", stdout);
    fflush(stdout);
    MPI_Finalize();
    if (argc > 1 && atoi(argv[1]) == rank)
        _exit(0);
    return 0;
}

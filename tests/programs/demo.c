//# lang: c
//# mpi: both
//# ranks: 4
//# expect-stdout: demo: 3 broadcasts to 4 ranks, all correct
/* The program of the demonstration: three broadcasts of 1000 numbers, and no other communication. */
#include <mpi.h>
#include <stdio.h>

enum { BROADCASTS = 3, NUMBERS = 1000 };

int main(int argc, char **argv)
{
    int rank, size, numbers[NUMBERS], wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < BROADCASTS; i++) {
        for (int n = 0; n < NUMBERS; n++)
            numbers[n] = rank == 0 ? i + n : -1;
        MPI_Bcast(numbers, NUMBERS, MPI_INT, 0, MPI_COMM_WORLD);
        for (int n = 0; n < NUMBERS; n++)
            wrong += numbers[n] != i + n;
    }
    if (wrong)
        printf("demo: rank %d got %d wrong numbers\n", rank, wrong);
    else if (rank == size - 1) /* the last that a broadcast reaches */
        printf("demo: %d broadcasts to %d ranks, all correct\n", BROADCASTS, size);
    MPI_Finalize();
    return wrong != 0;
}

//# role: companion
//# lang: c
//# mpi: both
//# links: opens_at_start_part.c
//# cflags: -Wl,-rpath,$ORIGIN
/* A program with a library whose constructor opens another library. */
#include <mpi.h>
#include <stdio.h>

int opened_at_start(void);

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("opened at start: %d\n", opened_at_start());
    MPI_Finalize();
    return 0;
}

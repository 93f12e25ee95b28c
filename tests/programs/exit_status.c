//# lang: c
//# mpi: both
//# ranks: 2
//# exit-status: 7
//# args: all
//# expect-stdout: exit_status: finalizing
//# args: last
//# expect-stdout: exit_status: finalizing
/* Ends with status 7 after MPI_Finalize: every rank, or only the last one. Whoever starts the program must see it. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, size, only_last = argc > 1 && strcmp(argv[1], "last") == 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        /* Before the others can end: a launcher that sees a status other than 0 ends the job. */
        fputs("exit_status: finalizing\n", stdout);
        fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return only_last && rank != size - 1 ? 0 : 7;
}

//# role: companion
//# lang: c
//# mpi: both
/* program_pmpi: a program that calls PMPI functions itself, without being a PMPI tool: one MPI_Send, and two PMPI_Send, one of them by
 * a pointer. */
#include <mpi.h>
#include <stdio.h>

typedef int send(const void *, int, MPI_Datatype, int, int, MPI_Comm);

int main(int argc, char **argv)
{
    int word = 1;
    send *volatile by_pointer = PMPI_Send;
    MPI_Init(&argc, &argv);
    MPI_Send(&word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    PMPI_Send(&word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    by_pointer(&word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    fputs("done\n", stdout);
    return 0;
}

//# role: companion
//# lang: c
//# mpi: both
//# cflags: -I../bridge/include
/* Calls functions of MPI by their QMPI names, as a tool may: no layer sees that. It has to be linked with libqmpi. */
#include <qmpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    QMPI_Context context = { NULL };
    int rank = -1, size = -1;
    MPI_Init(&argc, &argv);
    QMPI_Comm_rank(context, 0, MPI_COMM_WORLD, &rank);
    QMPI_Comm_size(context, 0, MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    QMPI_Barrier(context, 0, MPI_COMM_WORLD);
    printf("shifted: rank %d of %d\n", rank, size);
    MPI_Finalize();
    return 0;
}

//# lang: c
//# mpi: both
//# ranks: 2
//# expect-stdout: pcontrol: 3 calls
/* MPI_Pcontrol with no further arguments, and with some of each class: a pointer, a double, an integer. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, good = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    good += MPI_Pcontrol(0) == MPI_SUCCESS;
    good += MPI_Pcontrol(1) == MPI_SUCCESS;
    good += MPI_Pcontrol(2, "text", 2.5, 17) == MPI_SUCCESS;
    if (rank == 0)
        printf("pcontrol: %d calls\n", good);
    MPI_Finalize();
    return 0;
}

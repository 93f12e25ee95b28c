//# lang: c
//# mpi: openmpi
//# ranks: 1
//# expect-stdout: spawn: 2 children, sum 3
//# expect-stdout: done
/* Starts two processes of itself and adds up what they send: do tools come along? Debian's MPICH 4.0.2 cannot spawn. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm parent, children;
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        int sum = 0, size = 0;
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
        MPI_Comm_remote_size(children, &size);
        MPI_Reduce(NULL, &sum, 1, MPI_INT, MPI_SUM, MPI_ROOT, children);
        printf("spawn: %d children, sum %d\ndone\n", size, sum);
        MPI_Comm_disconnect(&children);
    } else {
        int rank, number;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        number = rank + 1;
        MPI_Reduce(&number, NULL, 1, MPI_INT, MPI_SUM, 0, parent);
        MPI_Comm_disconnect(&parent);
    }
    MPI_Finalize();
    return 0;
}

//# lang: c
//# mpi: both
//# ranks: 1
//# expect-stdout: sentinels_child: 0 arguments
/* What sentinels.c starts with MPI_Comm_spawn and MPI_ARGV_NULL. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int arguments = argc - 1; /* MPI_Init may change argc */
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    printf("sentinels_child: %d arguments\n", arguments);
    if (parent != MPI_COMM_NULL)
        MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
}

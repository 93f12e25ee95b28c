//# role: companion
//# lang: c
//# mpi: both
//# needs-mpi: no
/* front_mpi_program: a program that is linked with front_mpi.c alone. */
#include <stdio.h>

int MPI_Init(int *, char ***);
int MPI_Barrier(void *);
int MPI_Finalize(void);

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 3; i++)
        MPI_Barrier(0);
    MPI_Finalize();
    fputs("front_mpi_program: done\n", stdout);
    return 0;
}

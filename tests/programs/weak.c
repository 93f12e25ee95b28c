//# lang: c
//# mpi: both
//# ranks: 1
//# expect-stdout: weak: MPI_Send is there, MPI_Comm_toint is not
/* A program that asks by weak references which functions the MPI has. */
#include <mpi.h>
#include <stdio.h>

#pragma weak MPI_Send
#pragma weak MPI_Comm_toint
int MPI_Comm_toint(MPI_Comm comm); /* of MPI 5 */

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    printf("weak: MPI_Send is %s, MPI_Comm_toint is %s\n", MPI_Send ? "there" : "not", MPI_Comm_toint ? "there" : "not");
    if (MPI_Comm_toint)
        MPI_Comm_toint(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

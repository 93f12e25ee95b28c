//# role: companion
//# lang: c
//# mpi: both
/* The part of weak_late.c that uses MPI, and asks by weak references which functions it has. */
#include <mpi.h>
#include <stdio.h>

#pragma weak MPI_Send
#pragma weak MPI_Comm_toint
int MPI_Comm_toint(MPI_Comm comm); /* of MPI 5 */
int weak_part_run(void);

int weak_part_run(void)
{
    MPI_Init(NULL, NULL);
    printf("part: MPI_Send is %s, MPI_Comm_toint is %s\n", MPI_Send ? "there" : "not", MPI_Comm_toint ? "there" : "not");
    if (MPI_Comm_toint)
        MPI_Comm_toint(MPI_COMM_WORLD);
    return MPI_Finalize();
}

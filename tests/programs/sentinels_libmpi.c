//# role: companion
//# lang: c
//# mpi: both
/* A library in C with MPI, which sentinels.c opens before the one in Fortran. */
#include <mpi.h>
#include <stddef.h>

void sentinels_libmpi(int initialize);

void sentinels_libmpi(int initialize)
{
    if (initialize)
        MPI_Init(NULL, NULL);
}

//# role: companion
//# lang: c
//# mpi: both
/* The part of late_fortran.c that initializes MPI in C. */
#include <mpi.h>
#include <stddef.h>

int late_init(void);

int late_init(void)
{
    return MPI_Init(NULL, NULL);
}

//# lang: c
//# mpi: both
//# program: fortran_pcontrol.f90
//# expect-stdout: tool fortran_pcontrol: ok calls=3 levels=one,two
/* fortran_pcontrol: has an MPI_Pcontrol for C and one for Fortran, and passes neither on.
 *
 * Hazard: in a stack every tool should hear of MPI_Pcontrol, though none of them calls the next one; in Fortran as in C.
 *
 * Build: mpicc -shared -fPIC -O2 fortran_pcontrol.c -o fortran_pcontrol.so */
#include "verdict.h"
#include <mpi.h>
#include <string.h>

static char levels[100];

static int hear(int level)
{
    size_t length = strlen(levels);
    count_call();
    snprintf(levels + length, sizeof levels - length, "%s%s", length ? "," : "", level == 1 ? "one" : "two");
    return MPI_SUCCESS;
}

static int end(void)
{
    int rank = -1;
    count_call();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict_with("fortran_pcontrol", rank, "levels=%s", levels);
    return PMPI_Finalize();
}

int MPI_Pcontrol(const int level, ...) { return hear(level); }
void mpi_pcontrol_(MPI_Fint *level) { hear((int)*level); }
int MPI_Finalize(void) { return end(); }
void mpi_finalize_(MPI_Fint *error) { *error = end(); }

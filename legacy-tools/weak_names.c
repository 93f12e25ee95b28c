//# lang: c
//# mpi: both
//# program: ring.c
//# expect-stdout: tool weak_names: ok calls=3 own=1 other=0
/* weak_names: knows Fortran's addresses and the objects of both Open MPI and MPICH, by weak references.
 *
 * Hazard: names of several MPIs, of which a process has those of one; what is weak need not be there, so they say nothing of
 * what the tool is built for. `own` and `other`: whether it finds an object of the MPI that it runs on, and one of the other MPI.
 *
 * Build: mpicc -shared -fPIC -O2 weak_names.c -o weak_names.so */
#include "verdict.h"
#include <mpi.h>

/* By their names for the linker: mpi.h declares some of them. */
#define OPEN_MPI_NAMES(X)                                                                                      \
    X(ompi_mpi_op_sum) X(ompi_mpi_comm_null) X(mpi_fortran_in_place_) X(mpi_fortran_bottom_) X(MPI_FORTRAN_IN_PLACE)
#define MPICH_NAMES(X)                                                                                         \
    X(MPI_UNWEIGHTED) X(MPIR_F_MPI_IN_PLACE) X(MPIR_F_MPI_BOTTOM) X(MPIR_F08_MPI_IN_PLACE) X(MPIR_Process)       \
    X(mpifcmb4_) X(mpipriv1_) X(mpipriv2_) X(mpiprivc_)

#define AS_WEAK(name) extern char weak_##name __asm__(#name) __attribute__((weak));
#define AS_ADDRESS(name) &weak_##name,
#undef MPI_UNWEIGHTED
OPEN_MPI_NAMES(AS_WEAK)
MPICH_NAMES(AS_WEAK)

static char *volatile of_open_mpi[] = { OPEN_MPI_NAMES(AS_ADDRESS) };
static char *volatile of_mpich[] = { MPICH_NAMES(AS_ADDRESS) };

int MPI_Init(int *argc, char ***argv)
{
    count_call();
    return PMPI_Init(argc, argv);
}

int MPI_Barrier(MPI_Comm c)
{
    count_call();
    return PMPI_Barrier(c);
}

int MPI_Finalize(void)
{
    int rank = -1;
    int open_mpi = of_open_mpi[0] != NULL, mpich = of_mpich[0] != NULL;
    count_call();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
#ifdef OPEN_MPI
    verdict_with("weak_names", rank, "own=%d other=%d", open_mpi, mpich);
#else
    verdict_with("weak_names", rank, "own=%d other=%d", mpich, open_mpi);
#endif
    return PMPI_Finalize();
}

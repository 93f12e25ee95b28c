//# role: companion
//# lang: c
//# mpi: both
//# cflags: -w
/* guard_page_pmpi.c without Fortran wrappers, whose MPI_Pcontrol does not pass on. */
#define KEEPS_PCONTROL
#define NO_FORTRAN
#include "guard_page_pmpi.c"

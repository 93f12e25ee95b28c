//# lang: c
//# mpi: both
//# libs: -ldl -Wl,-z,lazy
/* fortran_counter_f: fortran_counter.c with no C wrappers. */
#define FORTRAN_ONLY
#include "fortran_counter.c"

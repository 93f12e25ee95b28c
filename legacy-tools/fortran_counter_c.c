//# lang: c
//# mpi: both
//# libs: -ldl -Wl,-z,lazy
/* fortran_counter_c: fortran_counter.c with no Fortran wrappers. */
#define C_ONLY
#include "fortran_counter.c"

//# role: companion
//# lang: c
//# mpi: both
//# libs: -lpthread
/* faulty.c with MPI. */
#define WITH_MPI
#include "faulty.c"

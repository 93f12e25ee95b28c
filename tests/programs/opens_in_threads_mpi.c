//# role: companion
//# lang: c
//# mpi: both
//# companion: opened_part.c
//# libs: -ldl -lpthread
/* opens_in_threads.c between MPI_Init and MPI_Finalize. */
#define WITH_MPI
#include "opens_in_threads.c"

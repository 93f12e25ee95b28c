//# lang: c
//# mpi: both
//# companion: sentinels_mpifh.f90
//# companion: sentinels_use_mpi.f90
//# companion: sentinels_f08.f90
//# cflags: -DLINKED -Wl,-rpath,$ORIGIN
//# libs: -ldl
//# ranks: 1
//# args: sentinels_mpifh.so local before
//# fails-on: mpich 3
//# expect-stdout: sentinels: in_place 3 3 3 3
//# expect-stdout: sentinels: done
//# args: sentinels_mpifh.so global after
//# fails-on: mpich 3
//# expect-stdout: sentinels: in_place 3 3 3 3
//# expect-stdout: sentinels: done
/* sentinels.c, linked with MPI's C library. */
#include "sentinels.c"

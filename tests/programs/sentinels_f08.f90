!# role: companion
!# lang: fortran
!# mpi: both
!# cflags: -cpp -w -fallow-argument-mismatch
! sentinels_mpifh.f90 with the module mpi_f08.
#define USE_F08
#include "sentinels_mpifh.f90"

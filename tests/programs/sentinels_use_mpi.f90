!# role: companion
!# lang: fortran
!# mpi: both
!# cflags: -cpp -w -fallow-argument-mismatch
! sentinels_mpifh.f90 with the module mpi.
#define USE_MODULE
#include "sentinels_mpifh.f90"

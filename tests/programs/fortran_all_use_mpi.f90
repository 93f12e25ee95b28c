!# lang: fortran
!# mpi: both
!# ranks: 2
!# cflags: -cpp -w -fallow-argument-mismatch
!# expect-stdout: fortran_all: 0 wrong
!# expect-stdout: fortran_all: done
! fortran_all.f90 with the module mpi.
#define USE_MODULE
#include "fortran_all.f90"

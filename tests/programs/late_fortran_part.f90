!# role: companion
!# lang: fortran
!# mpi: both
! The part of late_fortran.c that uses MPI in Fortran.
function late_fortran_run() bind(c) result(error)
  use iso_c_binding, only: c_int
  implicit none
  include 'mpif.h'
  integer(c_int) :: error
  integer :: rank, total
  logical :: initialized

  call MPI_Initialized(initialized, error)
  if (.not. initialized) call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Allreduce(rank + 1, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == 0) print '(a, i0)', 'late_fortran: sum ', total
  call MPI_Finalize(error)
end function

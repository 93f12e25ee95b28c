!# role: companion
!# lang: fortran
!# mpi: both
!# with: registers_late_part.c
!# cflags: -I../bridge/include
! A main program in Fortran that registers a QMPI tool before it initializes MPI, through C: the first call of MPI that comes is one
! that MPI's Fortran library makes.
program registers_late_fortran
  implicit none
  include 'mpif.h'
  integer :: in_place, error

  call register_late()
  call MPI_Init(error)
  in_place = 1
  call MPI_Allreduce(MPI_IN_PLACE, in_place, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
  print '(a,i0)', 'done ', in_place
end program registers_late_fortran

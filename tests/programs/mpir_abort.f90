!# role: companion
!# lang: fortran
!# mpi: both
! Rank 1 calls MPI_Abort, in Fortran.
program mpir_abort
  implicit none
  include 'mpif.h'
  integer :: rank, error

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  if (rank == 1) call MPI_Abort(MPI_COMM_WORLD, 7, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
end program mpir_abort

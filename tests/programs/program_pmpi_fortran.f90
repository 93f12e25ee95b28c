!# role: companion
!# lang: fortran
!# mpi: both
! program_pmpi.c in Fortran: one MPI_Send, two PMPI_Send.
program program_pmpi_fortran
  implicit none
  include 'mpif.h'
  integer :: word, error

  word = 1
  call MPI_Init(error)
  call MPI_Send(word, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, error)
  call PMPI_Send(word, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, error)
  call PMPI_Send(word, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
  print '(a)', 'done'
end program program_pmpi_fortran

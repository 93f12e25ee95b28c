!# role: companion
!# lang: fortran
! The module mpi_f08 with counts of MPI_COUNT_KIND: C functions with large counts.
program fortran_large_counts
  use mpi_f08
  implicit none
  integer :: rank, value
  integer(MPI_COUNT_KIND) :: count, bytes
  type(MPI_Status) :: status
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  count = 1
  value = 7
  if (rank == 0) then
    call MPI_Send(value, count, MPI_INTEGER, 1, 5, MPI_COMM_WORLD)
  else
    value = 0
    call MPI_Recv(value, count, MPI_INTEGER, 0, 5, MPI_COMM_WORLD, status)
  end if
  call MPI_Type_size(MPI_INTEGER, bytes)
  call MPI_Bcast(value, count, MPI_INTEGER, 0, MPI_COMM_WORLD)
  print '(a,i0,a,i0,a)', 'value ', value, ', ', bytes, ' bytes'
  call MPI_Finalize()
end program

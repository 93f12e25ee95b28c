!# lang: fortran
!# mpi: both
!# ranks: 1
!# cflags: -w
!# expect-stdout: zero_count: done
! Waits for one request in one call of MPI_Waitall, and for none in two others.
program zero_count
  implicit none
  include 'mpif.h'
  integer :: error, request(1), number
  call MPI_Init(error)
  call MPI_Irecv(number, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, request, error)
  call MPI_Send(7, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, error)
  call MPI_Waitall(1, request, MPI_STATUSES_IGNORE, error)
  call MPI_Waitall(0, request, MPI_STATUSES_IGNORE, error)
  call MPI_Waitall(0, request, MPI_STATUSES_IGNORE, error)
  if (number == 7) print '(a)', 'zero_count: done'
  call MPI_Finalize(error)
end program zero_count

!# lang: fortran
!# mpi: both
!# ranks: 1
!# expect-stdout: filtered_fortran: done
! Calls on MPI_COMM_WORLD, and on a communicator that is called `rows`.
program filtered_fortran
  implicit none
  include 'mpif.h'
  integer :: rows, error

  call MPI_Init(error)
  call MPI_Comm_dup(MPI_COMM_WORLD, rows, error)
  call MPI_Comm_set_name(rows, 'rows', error)
  call calls(MPI_COMM_WORLD, 20)
  call calls(rows, 15)
  call MPI_Comm_free(rows, error)
  print '(a)', 'filtered_fortran: done'
  call MPI_Finalize(error)
contains
  subroutine calls(comm, n)
    integer, intent(in) :: comm, n
    integer :: requests(2), in, i, rank
    do i = 1, n
      call MPI_Comm_rank(comm, rank, error)
      call MPI_Irecv(in, 1, MPI_INTEGER, 0, 1, comm, requests(1), error)
      call MPI_Isend(i, 1, MPI_INTEGER, 0, 1, comm, requests(2), error)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    end do
  end subroutine
end program

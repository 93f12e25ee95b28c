!# lang: fortran
!# mpi: both
!# ranks: 1
!# expect-stdout: alone_mpifh: allreduce 1 in place 1
!# expect-stdout: alone_mpifh: done
! The same as alone.c, in short and through mpif.h.
program alone_mpifh
  implicit none
  include 'mpif.h'
  integer :: rank, ranks, one, total, in_place, none, error

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  one = 1
  in_place = 1
  none = 0
  call MPI_Send(one, 1, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, error)
  call MPI_Recv(none, 1, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  call MPI_Allreduce(one, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Allreduce(MPI_IN_PLACE, in_place, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  print '(a,i0,a,i0)', 'alone_mpifh: allreduce ', total, ' in place ', in_place
  if (rank == 0 .and. ranks == 1 .and. none == 0) print '(a)', 'alone_mpifh: done'
  call MPI_Finalize(error)
end program alone_mpifh

!# lang: fortran
!# mpi: both
!# ranks: 2
!# expect-stdout: fortran_use_mpi: received 42
!# expect-stdout: fortran_use_mpi: bcast 2.5
!# expect-stdout: fortran_use_mpi: allreduce 3 in place 3
! The same as fortran_mpifh.f90, with the module mpi.
program fortran_use_mpi
  use mpi
  implicit none
  integer :: status(MPI_STATUS_SIZE)
  integer :: rank, ranks, answer, mine, total, in_place, error
  double precision :: half

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)

  ! Back and forth: with a status once, and once without.
  answer = 0
  if (rank == 0) then
    answer = 42
    call MPI_Send(answer, 1, MPI_INTEGER, 1, 5, MPI_COMM_WORLD, error)
    answer = 0
    call MPI_Recv(answer, 1, MPI_INTEGER, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  else if (rank == 1) then
    call MPI_Recv(answer, 1, MPI_INTEGER, 0, 5, MPI_COMM_WORLD, status, error)
    if (status(MPI_SOURCE) /= 0) answer = -1
    call MPI_Send(answer, 1, MPI_INTEGER, 0, 6, MPI_COMM_WORLD, error)
  end if

  half = 0
  if (rank == ranks - 1) half = 2.5d0
  call MPI_Bcast(half, 1, MPI_DOUBLE_PRECISION, ranks - 1, MPI_COMM_WORLD, error)

  mine = rank + 1
  in_place = mine
  call MPI_Allreduce(mine, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Allreduce(MPI_IN_PLACE, in_place, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)

  if (rank == 0) then
    print '(a,i0)', 'fortran_use_mpi: received ', answer
    print '(a,f3.1)', 'fortran_use_mpi: bcast ', half
    print '(a,i0,a,i0)', 'fortran_use_mpi: allreduce ', total, ' in place ', in_place
  end if
  call MPI_Finalize(error)
end program fortran_use_mpi

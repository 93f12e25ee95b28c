!# role: companion
!# lang: fortran
!# mpi: both
!# with: name_shift_part.c
! Calls MPI under its own names, which tools see, and under the prefix QMPI_, which goes past them. Linked with libqmpi_fortran.so.
program name_shift
  implicit none
  include 'mpif.h'
  integer :: rank, ranks, sent, received, in_place, spellings, right, error, request
  integer :: status(MPI_STATUS_SIZE)
  double precision, external :: QMPI_Wtime
  character(len=16) :: what

  call get_command_argument(1, what)
  call MPI_Init(error)
  if (what == 'missing') call missing_function()
  rank = -1
  ranks = -1
  call QMPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call QMPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  sent = 42 + rank
  received = 0
  call QMPI_Irecv(received, 1, MPI_INTEGER, ranks - 1 - rank, 3, MPI_COMM_WORLD, request, error)
  call QMPI_Send(sent, 1, MPI_INTEGER, ranks - 1 - rank, 3, MPI_COMM_WORLD, error)
  call QMPI_Wait(request, status, error)
  right = 0
  if (received == 42 + ranks - 1 - rank .and. status(MPI_TAG) == 3) right = right + 1
  in_place = 1
  call QMPI_Allreduce(MPI_IN_PLACE, in_place, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (in_place == ranks) right = right + 1
  if (abs(QMPI_Wtime() - MPI_Wtime()) < 60) right = right + 1
  call all_spellings(MPI_COMM_WORLD, spellings)

  ! Once more, for the tools.
  call MPI_Irecv(received, 1, MPI_INTEGER, ranks - 1 - rank, 3, MPI_COMM_WORLD, request, error)
  call MPI_Send(sent, 1, MPI_INTEGER, ranks - 1 - rank, 3, MPI_COMM_WORLD, error)
  call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
  if (rank == 0) print '(a,i0,a,i0)', 'name_shift: right ', right, ', spellings ', spellings
end program name_shift

!# role: companion
!# lang: fortran
!# mpi: both
!# cflags: -cpp -w -fallow-argument-mismatch
! The part of sentinels.c that uses MPI in Fortran: every address that means something is passed once, and what comes of it is
! printed. sentinels_use_mpi.f90 and sentinels_f08.f90 compile this file with the two modules.
#ifdef USE_F08
#define INTERFACE use mpi_f08
#define HEADER
#define HANDLE(kind) type(kind)
#elif defined(USE_MODULE)
#define INTERFACE use mpi
#define HEADER
#else
#define INTERFACE
#define HEADER include 'mpif.h'
#endif
#ifndef USE_F08
#define HANDLE(kind) integer
#endif

! `finalize`: 0 leaves MPI_Finalize to the caller. `command`: what MPI_Comm_spawn starts, nothing if it is empty.
subroutine sentinels_run(finalize, command, length) bind(c)
  use iso_c_binding, only: c_int, c_char
  INTERFACE
  implicit none
  HEADER
  integer(c_int), value :: finalize, length
  character(kind=c_char), intent(in) :: command(*)
  integer :: numbers(4), numbers_in(1), error, weights(1), sources(1), destinations(1), outgoing(2), incoming(2)
  integer :: indegree, outdegree, i, received
  integer(kind=MPI_ADDRESS_KIND) :: places(1)
  logical :: initialized, weighted
  character(len=200) :: child
  HANDLE(MPI_Datatype) :: absolute
  HANDLE(MPI_Comm) :: graph, children
  HANDLE(MPI_Request) :: requests(4)

  call MPI_Initialized(initialized, error)
  if (.not. initialized) call MPI_Init(error)

  numbers = 3
  call MPI_Allreduce(MPI_IN_PLACE, numbers, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_SELF, error)
  print '(a, 4(1x, i0))', 'sentinels: in_place', numbers

  ! The addresses are in the datatype.
  numbers_in = 7
  call MPI_Get_address(numbers_in, places(1), error)
  call MPI_Type_create_hindexed(1, [1], places, MPI_INTEGER, absolute, error)
  call MPI_Type_commit(absolute, error)
  received = 0
  call MPI_Sendrecv(MPI_BOTTOM, 1, absolute, 0, 5, received, 1, MPI_INTEGER, 0, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE, error)
  print '(a, i0)', 'sentinels: bottom ', received
  call MPI_Type_free(absolute, error)
  print '(a, l1)', 'sentinels: status_ignore untouched ', untouched_status()

  outgoing = [1, 2]
  incoming = 0
  do i = 1, 2
    call MPI_Irecv(incoming(i), 1, MPI_INTEGER, 0, i, MPI_COMM_SELF, requests(i), error)
    call MPI_Isend(outgoing(i), 1, MPI_INTEGER, 0, i, MPI_COMM_SELF, requests(i + 2), error)
  end do
  call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, error)
  print '(a, i0, 1x, i0)', 'sentinels: waitall ', incoming
  print '(a, l1)', 'sentinels: statuses_ignore untouched ', untouched_statuses()

  sources = 0
  destinations = 0
  call MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 1, sources, MPI_UNWEIGHTED, 1, destinations, MPI_UNWEIGHTED, &
    MPI_INFO_NULL, .false., graph, error)
  call MPI_Dist_graph_neighbors_count(graph, indegree, outdegree, weighted, error)
  print '(a, i0, 1x, i0, a, l1)', 'sentinels: unweighted ', indegree, outdegree, ' weighted ', weighted
  call MPI_Comm_free(graph, error)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 0, sources, MPI_WEIGHTS_EMPTY, 0, destinations, MPI_WEIGHTS_EMPTY, &
    MPI_INFO_NULL, .false., graph, error)
  call MPI_Dist_graph_neighbors_count(graph, indegree, outdegree, weighted, error)
  print '(a, i0, 1x, i0, a, l1)', 'sentinels: weights_empty ', indegree, outdegree, ' weighted ', weighted
  call MPI_Comm_free(graph, error)

  if (length > 0) then
    child = ''
    do i = 1, length
      child(i:i) = command(i)
    end do
    call MPI_Comm_spawn(child, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, children, MPI_ERRCODES_IGNORE, error)
    print '(a, l1)', 'sentinels: spawn ', error == MPI_SUCCESS
    if (children /= MPI_COMM_NULL) call MPI_Comm_disconnect(children, error)
  end if

  print '(a)', 'sentinels: done'
  flush (6)
  if (finalize /= 0) call MPI_Finalize(error)
contains
  ! What was written to the variable that stands for "no status": the address means something, the memory nothing.
  logical function untouched_status()
#ifdef USE_F08
    untouched_status = MPI_STATUS_IGNORE%MPI_SOURCE == 0 .and. MPI_STATUS_IGNORE%MPI_TAG == 0
#else
    untouched_status = all(MPI_STATUS_IGNORE == 0)
#endif
  end function untouched_status

  logical function untouched_statuses()
#ifdef USE_F08
    untouched_statuses = MPI_STATUSES_IGNORE(1)%MPI_SOURCE == 0 .and. MPI_STATUSES_IGNORE(1)%MPI_TAG == 0
#else
    ! An array of statuses in one MPI, a single variable in the other: its first status.
    untouched_statuses = all(transfer(MPI_STATUSES_IGNORE, [0], 1) == 0)
#endif
  end function untouched_statuses
end subroutine sentinels_run

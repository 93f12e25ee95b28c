!# lang: fortran
!# mpi: both
!# ranks: 2
!# cflags: -cpp -w -fallow-argument-mismatch
!# expect-stdout: fortran_all: 0 wrong
!# expect-stdout: fortran_all: done
! What differs most between Fortran and C: addresses that mean something (MPI_BOTTOM, MPI_IN_PLACE, ...), strings, and callbacks
! that call MPI themselves. Every rank makes the same number of calls of each function. This file includes mpif.h;
! fortran_all_use_mpi.f90 and fortran_all_f08.f90 compile it with the two modules.
!
! `callbacks N` is how often rank 0 was called back: each of these calls makes one call of MPI_Get_count.
#ifdef USE_F08
#define INTERFACE use mpi_f08
#define HEADER
#define HANDLE(kind) type(kind)
#define STATUS(name) type(MPI_Status) :: name
#define STATUSES(name, n) type(MPI_Status) :: name(n)
#define SOURCE_OF(status) status%MPI_SOURCE
#elif defined(USE_MODULE)
#define INTERFACE use mpi
#define HEADER
#else
#define INTERFACE
#define HEADER include 'mpif.h'
#endif
#ifndef USE_F08
#define HANDLE(kind) integer
#define STATUS(name) integer :: name(MPI_STATUS_SIZE)
#define STATUSES(name, n) integer :: name(MPI_STATUS_SIZE, n)
#define SOURCE_OF(status) status(MPI_SOURCE)
#endif

module callbacks
  INTERFACE
  implicit none
  HEADER
  integer :: times = 0
  STATUS(received)
contains
  ! A call of MPI in a callback: its answer is known.
  subroutine ask()
    integer :: count, error
    call MPI_Get_count(received, MPI_INTEGER, count, error)
    times = times + 1
    if (count /= 1) times = -1000000
  end subroutine ask

#ifdef USE_F08
  subroutine add(invec, inoutvec, length, datatype)
    use, intrinsic :: iso_c_binding, only : c_ptr, c_f_pointer
    type(c_ptr), value :: invec, inoutvec
    integer :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: from(:), to(:)
    call c_f_pointer(invec, from, [length])
    call c_f_pointer(inoutvec, to, [length])
    call ask()
    to = to + from
  end subroutine add
#else
  subroutine add(invec, inoutvec, length, datatype)
    integer :: length, datatype
    integer :: invec(length), inoutvec(length)
    call ask()
    inoutvec = inoutvec + invec
  end subroutine add
#endif

  subroutine copied(oldcomm, keyval, extra, value_in, value_out, flag, error)
    HANDLE(MPI_Comm) :: oldcomm
    integer :: keyval, error
    integer(MPI_ADDRESS_KIND) :: extra, value_in, value_out
    logical :: flag
    call ask()
    value_out = value_in + extra
    flag = .true.
    error = MPI_SUCCESS
  end subroutine copied

  subroutine deleted(comm, keyval, value, extra, error)
    HANDLE(MPI_Comm) :: comm
    integer :: keyval, error
    integer(MPI_ADDRESS_KIND) :: value, extra
    call ask()
    error = MPI_SUCCESS
  end subroutine deleted
end module callbacks

program fortran_all
  use callbacks
  implicit none
  integer :: rank, ranks, other, error, wrong, keyval, length, i, sources(1), in_degree, out_degree
  integer :: answer, back, sum, mine(4), theirs(4), all(4), lengths(2)
  integer, save, asynchronous :: here(2), there(2)
  integer(MPI_ADDRESS_KIND) :: places(2), value
  integer(MPI_ADDRESS_KIND), save :: extra = 2
  logical :: flag
  double precision :: start
  character(len=MPI_MAX_OBJECT_NAME) :: name
  HANDLE(MPI_Comm) :: dup, part, graph
  HANDLE(MPI_Datatype) :: from_here, to_there, row
  HANDLE(MPI_Op) :: adds
  HANDLE(MPI_Request) :: requests(2)
  STATUSES(statuses, 2)

  wrong = 0
  call MPI_Init(error)
  start = MPI_Wtime()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  other = 1 - rank

  ! One that keeps the status, one that does not want it.
  if (rank == 0) then
    call MPI_Send(17, 1, MPI_INTEGER, other, 1, MPI_COMM_WORLD, error)
    call MPI_Recv(answer, 1, MPI_INTEGER, other, 1, MPI_COMM_WORLD, received, error)
    call MPI_Send(18, 1, MPI_INTEGER, other, 2, MPI_COMM_WORLD, error)
    call MPI_Recv(back, 1, MPI_INTEGER, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  else
    call MPI_Recv(answer, 1, MPI_INTEGER, other, 1, MPI_COMM_WORLD, received, error)
    call MPI_Send(17, 1, MPI_INTEGER, other, 1, MPI_COMM_WORLD, error)
    call MPI_Recv(back, 1, MPI_INTEGER, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call MPI_Send(18, 1, MPI_INTEGER, other, 2, MPI_COMM_WORLD, error)
  end if
  call expect(answer == 17 .and. back == 18 .and. SOURCE_OF(received) == other, 'send and receive')

  ! MPI_BOTTOM: the type has the addresses.
  here = [100 + rank, 200 + rank]
  there = 0
  lengths = 1
  call MPI_Get_address(here(1), places(1), error)
  call MPI_Get_address(here(2), places(2), error)
  call MPI_Type_create_hindexed(2, lengths, places, MPI_INTEGER, from_here, error)
  call MPI_Get_address(there(1), places(1), error)
  call MPI_Get_address(there(2), places(2), error)
  call MPI_Type_create_hindexed(2, lengths, places, MPI_INTEGER, to_there, error)
  call MPI_Type_commit(from_here, error)
  call MPI_Type_commit(to_there, error)
  call MPI_Irecv(MPI_BOTTOM, 1, to_there, other, 3, MPI_COMM_WORLD, requests(1), error)
  call MPI_Isend(MPI_BOTTOM, 1, from_here, other, 3, MPI_COMM_WORLD, requests(2), error)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
  call expect(there(1) == 100 + other .and. there(2) == 200 + other, 'MPI_BOTTOM')
  call MPI_Type_free(from_here, error)
  call MPI_Type_free(to_there, error)

  ! The same with statuses, and a type without addresses.
  call MPI_Type_contiguous(2, MPI_INTEGER, row, error)
  call MPI_Type_commit(row, error)
  there = 0
  call MPI_Irecv(there, 1, row, other, 4, MPI_COMM_WORLD, requests(1), error)
  call MPI_Isend(here, 1, row, other, 4, MPI_COMM_WORLD, requests(2), error)
  call MPI_Waitall(2, requests, statuses, error)
  call MPI_Type_free(row, error)
  call expect(there(1) == 100 + other .and. there(2) == 200 + other, 'Waitall')

  ! Reductions, with an operation of ours, in place and not.
  call MPI_Op_create(add, .true., adds, error)
  mine = [1, 2, 3, 4] + rank
  call MPI_Allreduce(mine, theirs, 4, MPI_INTEGER, adds, MPI_COMM_WORLD, error)
  call expect(all_are(theirs, [3, 5, 7, 9]), 'user-defined operation')
  call MPI_Allreduce(MPI_IN_PLACE, mine, 4, MPI_INTEGER, adds, MPI_COMM_WORLD, error)
  call expect(all_are(mine, [3, 5, 7, 9]), 'in place')
  call MPI_Op_free(adds, error)
  sum = rank + 1
  call MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call expect(sum == 3, 'in place, MPI_SUM')
  answer = 0
  if (rank == 1) answer = 5
  call MPI_Bcast(answer, 1, MPI_INTEGER, 1, MPI_COMM_WORLD, error)
  call expect(answer == 5, 'Bcast')

  ! Attributes: copied with the communicator, deleted with it.
  ! MPICH keeps where `extra` is, not its value.
  call MPI_Comm_create_keyval(copied, deleted, keyval, extra, error)
  value = 40
  call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, value, error)
  call MPI_Comm_dup(MPI_COMM_WORLD, dup, error)
  value = 0
  call MPI_Comm_get_attr(dup, keyval, value, flag, error)
  call expect(flag .and. value == 42, 'attribute')
  call MPI_Comm_free(dup, error)
  call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval, error)
  call MPI_Comm_free_keyval(keyval, error)

  ! Strings, whose lengths are hidden arguments.
  call MPI_Comm_split(MPI_COMM_WORLD, rank, 0, part, error)
  call MPI_Comm_set_name(part, 'part', error)
  name = 'x'
  call MPI_Comm_get_name(part, name, length, error)
  call expect(length == 4 .and. name == 'part', 'name')
  call MPI_Comm_size(part, i, error)
  call expect(i == 1, 'part')
  call MPI_Comm_free(part, error)

  sources = other
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 1, sources, MPI_UNWEIGHTED, &
    MPI_INFO_NULL, .false., graph, error)
  call MPI_Dist_graph_neighbors_count(graph, in_degree, out_degree, flag, error)
  call expect(in_degree == 1 .and. out_degree == 1 .and. .not. flag, 'MPI_UNWEIGHTED')
  call MPI_Comm_free(graph, error)

  call MPI_Barrier(MPI_COMM_WORLD, error)
  call expect(MPI_Wtime() >= start, 'time')
  if (rank == 0) then
    print '(a,i0,a)', 'fortran_all: ', wrong, ' wrong'
    print '(a,i0)', 'fortran_all: callbacks ', times
    print '(a)', 'fortran_all: done'
  end if
  call MPI_Finalize(error)

contains

  subroutine expect(right, what)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    if (right) return
    wrong = wrong + 1
    print '(a,a,a,i0)', 'fortran_all: wrong: ', what, ' on rank ', rank
  end subroutine expect

  logical function all_are(these, those)
    integer, intent(in) :: these(4), those(4)
    all_are = maxval(abs(these - those)) == 0
  end function all_are
end program fortran_all

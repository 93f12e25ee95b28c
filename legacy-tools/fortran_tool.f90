!# lang: fortran
!# mpi: both
!# with: fortran_tool_site.c
!# cflags: -w -fallow-argument-mismatch -fno-omit-frame-pointer -fno-optimize-sibling-calls
! fortran_tool: a tool written in Fortran. Its wrappers are subroutines named like MPI's, and go on with pmpi_send.
!
! Its report is that of fortran_counter.c: `fortran_tool Send: c=0 fortran=2 f08=0 app=2`. Only what mpif.h and the module mpi call
! comes here; C, and the module mpi_f08, call other names. MPI_IN_PLACE and MPI_STATUS_IGNORE are variables whose addresses mean
! something: the tool sees the program's (`in_place`, `ignored` count them).
!
! Build: mpifort -shared -fPIC -O2 -fno-omit-frame-pointer fortran_tool.f90 fortran_tool_site.c -o fortran_tool.so
module fortran_tool
  implicit none
  integer, parameter :: functions = 10
  integer, parameter :: f_send = 1, f_recv = 2, f_isend = 3, f_irecv = 4, f_waitall = 5, f_bcast = 6, f_allreduce = 7, &
    f_get_count = 8, f_comm_dup = 9, f_finalize = 10
  character(len=9), parameter :: names(functions) = [character(len=9) :: 'Send', 'Recv', 'Isend', 'Irecv', 'Waitall', 'Bcast', &
    'Allreduce', 'Get_count', 'Comm_dup', 'Finalize']
  integer, save :: calls(functions) = 0, from_app(functions) = 0, in_place = 0, ignored = 0
  interface
    ! 1 if the wrapper that asks was called by the executable.
    integer(c_int) function called_by_app() bind(C)
      use, intrinsic :: iso_c_binding, only : c_int
    end function called_by_app
  end interface
end module fortran_tool

subroutine mpi_send(buf, count, datatype, dest, tag, comm, ierror)
  use fortran_tool
  integer :: buf(*), count, datatype, dest, tag, comm, ierror
  calls(f_send) = calls(f_send) + 1
  from_app(f_send) = from_app(f_send) + called_by_app()
  call pmpi_send(buf, count, datatype, dest, tag, comm, ierror)
end subroutine mpi_send

subroutine mpi_recv(buf, count, datatype, source, tag, comm, status, ierror)
  use fortran_tool
  include 'mpif.h'
  integer :: buf(*), count, datatype, source, tag, comm, status(MPI_STATUS_SIZE), ierror
  calls(f_recv) = calls(f_recv) + 1
  from_app(f_recv) = from_app(f_recv) + called_by_app()
  if (loc(status) == loc(MPI_STATUS_IGNORE)) ignored = ignored + 1
  call pmpi_recv(buf, count, datatype, source, tag, comm, status, ierror)
end subroutine mpi_recv

subroutine mpi_isend(buf, count, datatype, dest, tag, comm, request, ierror)
  use fortran_tool
  integer :: buf(*), count, datatype, dest, tag, comm, request, ierror
  calls(f_isend) = calls(f_isend) + 1
  from_app(f_isend) = from_app(f_isend) + called_by_app()
  call pmpi_isend(buf, count, datatype, dest, tag, comm, request, ierror)
end subroutine mpi_isend

subroutine mpi_irecv(buf, count, datatype, source, tag, comm, request, ierror)
  use fortran_tool
  integer :: buf(*), count, datatype, source, tag, comm, request, ierror
  calls(f_irecv) = calls(f_irecv) + 1
  from_app(f_irecv) = from_app(f_irecv) + called_by_app()
  call pmpi_irecv(buf, count, datatype, source, tag, comm, request, ierror)
end subroutine mpi_irecv

subroutine mpi_waitall(count, requests, statuses, ierror)
  use fortran_tool
  integer :: count, requests(*), statuses(*), ierror
  calls(f_waitall) = calls(f_waitall) + 1
  from_app(f_waitall) = from_app(f_waitall) + called_by_app()
  call pmpi_waitall(count, requests, statuses, ierror)
end subroutine mpi_waitall

subroutine mpi_bcast(buf, count, datatype, root, comm, ierror)
  use fortran_tool
  integer :: buf(*), count, datatype, root, comm, ierror
  calls(f_bcast) = calls(f_bcast) + 1
  from_app(f_bcast) = from_app(f_bcast) + called_by_app()
  call pmpi_bcast(buf, count, datatype, root, comm, ierror)
end subroutine mpi_bcast

subroutine mpi_allreduce(sendbuf, recvbuf, count, datatype, op, comm, ierror)
  use fortran_tool
  include 'mpif.h'
  integer :: sendbuf(*), recvbuf(*), count, datatype, op, comm, ierror
  calls(f_allreduce) = calls(f_allreduce) + 1
  from_app(f_allreduce) = from_app(f_allreduce) + called_by_app()
  if (loc(sendbuf) == loc(MPI_IN_PLACE)) in_place = in_place + 1
  call pmpi_allreduce(sendbuf, recvbuf, count, datatype, op, comm, ierror)
end subroutine mpi_allreduce

subroutine mpi_get_count(status, datatype, count, ierror)
  use fortran_tool
  integer :: status(*), datatype, count, ierror
  calls(f_get_count) = calls(f_get_count) + 1
  from_app(f_get_count) = from_app(f_get_count) + called_by_app()
  call pmpi_get_count(status, datatype, count, ierror)
end subroutine mpi_get_count

subroutine mpi_comm_dup(comm, newcomm, ierror)
  use fortran_tool
  integer :: comm, newcomm, ierror
  calls(f_comm_dup) = calls(f_comm_dup) + 1
  from_app(f_comm_dup) = from_app(f_comm_dup) + called_by_app()
  call pmpi_comm_dup(comm, newcomm, ierror)
end subroutine mpi_comm_dup

subroutine mpi_finalize(ierror)
  use fortran_tool
  include 'mpif.h'
  integer :: ierror, rank, f
  character(len=64) :: label
  calls(f_finalize) = calls(f_finalize) + 1
  from_app(f_finalize) = from_app(f_finalize) + called_by_app()
  call get_environment_variable('FORTRAN_TOOL', label)
  if (label == '') label = 'fortran_tool'
  call pmpi_comm_rank(MPI_COMM_WORLD, rank, ierror)
  if (rank == 0) then
    do f = 1, functions
      print '(a,1x,a,a,i0,a,i0)', trim(label), trim(names(f)), ': c=0 fortran=', calls(f), ' f08=0 app=', from_app(f)
    end do
    print '(a,a,i0,a,i0)', trim(label), ': in_place=', in_place, ' ignored=', ignored
    flush (6)
  end if
  call pmpi_finalize(ierror)
end subroutine mpi_finalize

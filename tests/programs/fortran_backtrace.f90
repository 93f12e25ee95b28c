!# lang: fortran
!# mpi: both
!# ranks: 1
!# cflags: -g -fbacktrace -w -fno-optimize-sibling-calls
!# expect-stdout: fortran_backtrace: done
! Calls MPI_Barrier from a known place, main > outer > inner, and has a reduction that prints the stack it is called on. A tool that
! crashes in one of its wrappers makes libgfortran print the stack.
module fortran_backtrace_parts
  implicit none
  include 'mpif.h'
contains
  subroutine reduction(in, inout, length, datatype)
    integer :: length, datatype, in(length), inout(length)
    inout = inout + in
    call backtrace()
  end subroutine reduction

  subroutine inner()
    integer :: op, in(1), inout(1), error
    in = 1
    inout = 2
    call MPI_Op_create(reduction, .true., op, error)
    call MPI_Reduce_local(in, inout, 1, MPI_INTEGER, op, error)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    if (inout(1) == 3) print '(a)', 'fortran_backtrace: done'
  end subroutine inner

  subroutine outer()
    call inner()
  end subroutine outer
end module fortran_backtrace_parts

program fortran_backtrace
  use fortran_backtrace_parts
  implicit none
  integer :: error
  call MPI_Init(error)
  call outer()
  call MPI_Finalize(error)
end program fortran_backtrace

!# lang: fortran
!# mpi: both
!# ranks: 1
!# expect-stdout: switched_fortran: done
! Switches layer 2 off before requests are started and on before they are completed, and the other way round, ten times each; the layer
! is off for ten calls of MPI_Comm_rank, and on for one.
module switch
  use, intrinsic :: iso_c_binding
  implicit none
  abstract interface
    integer(c_int) function one_tool(tool) bind(c)
      import c_int
      integer(c_int), value :: tool
    end function
  end interface
  interface
    type(c_funptr) function dlsym(handle, name) bind(c)
      import c_funptr, c_ptr, c_char
      type(c_ptr), value :: handle
      character(kind=c_char) :: name(*)
    end function
  end interface
contains
  subroutine set(on)
    logical, intent(in) :: on
    type(c_funptr) :: address
    procedure(one_tool), pointer :: function
    integer(c_int) :: error
    if (on) then
      address = dlsym(c_null_ptr, 'QMPIX_Tool_enable' // c_null_char)
    else
      address = dlsym(c_null_ptr, 'QMPIX_Tool_disable' // c_null_char)
    end if
    if (c_associated(address)) then
      call c_f_procpointer(address, function)
      error = function(2)
    end if
  end subroutine
end module

program switched_fortran
  use switch
  implicit none
  include 'mpif.h'
  integer :: requests(3), in, out, rank, comm, error, i

  call MPI_Init(error)
  call set(.false.)
  call MPI_Comm_dup(MPI_COMM_SELF, comm, error)
  do i = 1, 20
    out = i
    in = 0
    call set(mod(i, 2) == 0)
    call MPI_Irecv(in, 1, MPI_INTEGER, 0, 1, comm, requests(1), error)
    requests(2) = MPI_REQUEST_NULL
    call MPI_Isend(out, 1, MPI_INTEGER, 0, 1, comm, requests(3), error)
    call set(mod(i, 2) == 1)
    call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE, error)
    if (in /= i) print '(a, i0)', 'switched_fortran: received ', in
  end do
  call set(.false.)
  do i = 1, 10
    call MPI_Comm_rank(comm, rank, error)
  end do
  call set(.true.)
  call MPI_Comm_rank(comm, rank, error)
  call set(.false.)
  call MPI_Comm_free(comm, error)
  print '(a)', 'switched_fortran: done'
  call MPI_Finalize(error)
end program

!# role: companion
!# lang: fortran
!# mpi: both
! What the tools sentinels_to_c and sentinels_on know of Fortran: the addresses that mean something. `include 'mpif.h'` makes the
! tool define common blocks of the same names as the program and MPI's library do; one of these definitions has to serve
! all three.
subroutine sentinels_of_fortran(addresses) bind(c)
  use iso_c_binding, only: c_intptr_t
  implicit none
  include 'mpif.h'
  integer(c_intptr_t), intent(out) :: addresses(8)
  addresses(1) = loc(MPI_IN_PLACE)
  addresses(2) = loc(MPI_BOTTOM)
  addresses(3) = loc(MPI_STATUS_IGNORE)
  addresses(4) = loc(MPI_STATUSES_IGNORE)
  addresses(5) = loc(MPI_UNWEIGHTED)
  addresses(6) = loc(MPI_WEIGHTS_EMPTY)
  addresses(7) = loc(MPI_ARGV_NULL)
  addresses(8) = loc(MPI_ERRCODES_IGNORE)
end subroutine sentinels_of_fortran

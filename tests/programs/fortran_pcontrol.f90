!# lang: fortran
!# mpi: both
!# expect-stdout: fortran_pcontrol: done
! Tells tools two things.
program fortran_pcontrol
  implicit none
  include 'mpif.h'
  integer :: error

  call MPI_Init(error)
  call MPI_Pcontrol(1)
  call MPI_Pcontrol(2)
  call MPI_Finalize(error)
  print '(a)', 'fortran_pcontrol: done'
end program

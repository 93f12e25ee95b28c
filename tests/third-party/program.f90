! The Fortran program that third-party tools are run on (ci/third-party): messages and collectives by `use mpi`.
program program_in_fortran
    use mpi
    implicit none
    integer :: rank, ranks, error, round, left, right, total
    integer :: out(64), in(64), status(MPI_STATUS_SIZE), requests(2), statuses(MPI_STATUS_SIZE, 2)

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    right = mod(rank + 1, ranks)
    left = mod(rank + ranks - 1, ranks)
    out = rank
    do round = 1, 2
        call MPI_Sendrecv(out, 64, MPI_INTEGER, right, 1, in, 64, MPI_INTEGER, left, 1, MPI_COMM_WORLD, status, error)
        call MPI_Irecv(in, 64, MPI_INTEGER, left, 2, MPI_COMM_WORLD, requests(1), error)
        call MPI_Isend(out, round, MPI_INTEGER, right, 2, MPI_COMM_WORLD, requests(2), error)
        call MPI_Waitall(2, requests, statuses, error)
    end do
    call MPI_Bcast(out, 64, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    if (rank == 0) print '(a, i0, a, i0, a)', 'program: ', ranks, ' ranks, ', total - ranks * (ranks - 1) / 2, ' errors'
    call MPI_Finalize(error)
end program program_in_fortran

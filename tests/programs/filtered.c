//# lang: c
//# mpi: both
//# ranks: 1
//# expect-stdout: filtered: done
/* Calls on several communicators: on MPI_COMM_WORLD, on one that is called `rows`, on one without a name, on MPI_COMM_SELF. */
#include <mpi.h>
#include <stdio.h>

static void calls(MPI_Comm comm, int n)
{
    int out = 1, in, both[2] = { 0, 0 }, rank;
    for (int i = 0; i < n; i++) {
        MPI_Request requests[3] = { MPI_REQUEST_NULL };
        MPI_Barrier(comm);
        MPI_Alltoall(&out, 1, MPI_INT, both, 1, MPI_INT, comm);
        MPI_Comm_rank(comm, &rank);
        MPI_Irecv(&in, 1, MPI_INT, rank, 7, comm, &requests[1]);
        MPI_Isend(&out, 1, MPI_INT, rank, 7, comm, &requests[2]);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm rows, unnamed;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &rows);
    MPI_Comm_set_name(rows, "rows");
    /* A name may be copied with the communicator. */
    MPI_Comm_dup(MPI_COMM_SELF, &unnamed);
    MPI_Comm_set_name(unnamed, "");
    calls(MPI_COMM_WORLD, 100);
    calls(rows, 61);
    calls(unnamed, 33);
    calls(MPI_COMM_SELF, 7);
    MPI_Comm_free(&rows);
    MPI_Comm_free(&unnamed);
    fputs("filtered: done\n", stdout);
    return MPI_Finalize();
}

//# role: companion
//# lang: c
//# mpi: both
/* What a tool and its port are compared with: the same calls in every run, some of each kind. Two ranks or more; the last rank talks to
 * rank 0. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, value = 1, sum = 0, bytes = 0, count = 0;
    MPI_Comm pair, copy;
    MPI_Request request;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int partner = rank == 0 ? size - 1 : rank == size - 1 ? 0 : MPI_PROC_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &pair);
    MPI_Comm_set_name(copy, "copy");
    for (int i = 0; i < 5; i++) {
        if (rank == 0) {
            MPI_Send(&value, 1, MPI_INT, partner, 3, copy);
        } else if (rank == size - 1) {
            MPI_Probe(0, 3, copy, MPI_STATUS_IGNORE);
            MPI_Recv(&value, 1, MPI_INT, 0, 3, copy, &status);
            MPI_Get_count(&status, MPI_INT, &count);
        }
        if (rank == size - 1)
            MPI_Send(&value, 1, MPI_INT, partner, 4, copy);
        else if (rank == 0)
            MPI_Recv(&value, 1, MPI_INT, partner, 4, copy, &status);
        MPI_Irecv(&value, 1, MPI_INT, partner, 5, copy, &request);
        MPI_Ssend(&rank, 0, MPI_INT, MPI_PROC_NULL, 0, copy);
        if (partner != MPI_PROC_NULL) {
            MPI_Request sent;
            MPI_Isend(&sum, 1, MPI_INT, partner, 5, copy, &sent);
            MPI_Wait(&sent, MPI_STATUS_IGNORE);
        }
        MPI_Wait(&request, &status);
    }
    for (int i = 0; i < 200; i++)
        MPI_Type_size(MPI_DOUBLE, &bytes);
    MPI_Barrier(copy);
    value = 1;
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_free(&pair);
    MPI_Comm_free(&copy);
    printf("rank %d of %d: sum %d, %d bytes\n", rank, size, sum, bytes);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

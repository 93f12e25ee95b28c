//# role: companion
//# lang: c
//# mpi: both
/* Two ranks that move the same bytes in many ways, for hashes of buffers. */
#include <mpi.h>
#include <stdio.h>

static int rank, other;

/* Rank 0 sends, rank 1 has room for four times as much. */
static void to_other(const void *from, int count, MPI_Datatype type, int tag)
{
    static int room[64];
    MPI_Status status;
    if (rank == 0)
        MPI_Send(from, count, type, other, tag, MPI_COMM_WORLD);
    else
        MPI_Recv(room, 64, MPI_INT, other, tag, MPI_COMM_WORLD, &status);
}

int main(int argc, char **argv)
{
    int data[16], sums[4] = {1, 2, 3, 4}, all[8] = {0}, counts[] = {4, 4}, places[] = {0, 4}, gaps[] = {0, 9};
    MPI_Datatype row, vector, wide, here;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    for (int i = 0; i < 16; i++)
        data[i] = 100 + i;
    MPI_Type_contiguous(4, MPI_INT, &row);
    MPI_Type_vector(2, 1, 2, MPI_INT, &vector);
    MPI_Type_create_resized(MPI_INT, 0, 8, &wide);
    MPI_Aint address;
    MPI_Get_address(data, &address);
    MPI_Type_create_hindexed(1, counts, &address, MPI_INT, &here);
    MPI_Type_commit(&row);
    MPI_Type_commit(&vector);
    MPI_Type_commit(&wide);
    MPI_Type_commit(&here);
    to_other(data, 4, MPI_INT, 1);
    to_other(data, 1, row, 2);
    to_other(data, 16, MPI_BYTE, 3);
    to_other(data, 1, vector, 4);
    to_other(data, 1, wide, 5);
    to_other(data, 2, wide, 6);
    to_other(MPI_BOTTOM, 1, here, 7);
    to_other(data, 0, MPI_INT, 8);
    MPI_Send(data, 4, MPI_INT, MPI_PROC_NULL, 9, MPI_COMM_WORLD);
    MPI_Recv(data, 4, MPI_INT, MPI_PROC_NULL, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(rank == 0 ? data : all, 4, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allgatherv(data, 4, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Gatherv(data, 4, MPI_INT, (int[16]){0}, counts, gaps, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Irecv(all, 4, MPI_INT, other, 10, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(data, 4, MPI_INT, other, 10, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Type_free(&row);
    MPI_Type_free(&vector);
    MPI_Type_free(&wide);
    MPI_Type_free(&here);
    if (rank == 0)
        fputs("done\n", stdout);
    MPI_Finalize();
    return 0;
}

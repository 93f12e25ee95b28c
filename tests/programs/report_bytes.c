//# role: companion
//# lang: c
//# mpi: both
/* Moves numbers of bytes that are known, on three ranks. An argument is the name of a file. */
#include <mpi.h>
#include <stdio.h>

static int rank, size;
static char out[4096], in[4096 * 4];

static void datatypes(void)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Request requests[2];
    /* 100 doubles each way, in two ways. */
    MPI_Sendrecv(out, 100, MPI_DOUBLE, next, 1, in, 100, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(in, 200, MPI_INT, before, 2, MPI_COMM_WORLD, &requests[0]); /* has room for more than comes */
    MPI_Isend(out, 10, MPI_INT, next, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    /* One handle after the other, which MPI may give the same value: 3 * 1 + 3 * 2 + ... + 3 * 20 bytes. */
    for (int length = 1; length <= 20; length++) {
        MPI_Datatype type;
        MPI_Type_contiguous(length, MPI_CHAR, &type);
        MPI_Type_commit(&type);
        MPI_Request request;
        MPI_Irecv(in, 3, type, before, 3, MPI_COMM_WORLD, &request);
        MPI_Ssend(out, 3, type, next, 3, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Type_free(&type);
    }
    MPI_Rsend(out, 7, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD);
    MPI_Bsend(NULL, 0, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD);
}

static void collectives(void)
{
    int counts[] = {1, 2, 3}, places[] = {0, 1, 3}, bytes[] = {0, 4, 12};
    MPI_Datatype types[] = {MPI_CHAR, MPI_SHORT, MPI_INT};
    MPI_Bcast(out, 25, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, in, 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce(out, in, 10, MPI_DOUBLE, MPI_SUM, 2, MPI_COMM_WORLD);
    /* What means nothing on the others is nonsense there. */
    MPI_Gather(out, 5, MPI_INT, in, rank == 0 ? 5 : -1, rank == 0 ? MPI_INT : MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
    MPI_Scatterv(out, rank == 0 ? counts : NULL, rank == 0 ? places : NULL, MPI_INT, in, rank + 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Alltoall(out, 8, MPI_CHAR, in, 2, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgatherv(out, rank + 1, MPI_SHORT, in, counts, places, MPI_SHORT, MPI_COMM_WORLD);
    int each[] = {2, 2, 2};
    MPI_Datatype same[] = {types[rank], types[rank], types[rank]};
    MPI_Alltoallw(out, each, bytes, types, in, each, bytes, same, MPI_COMM_WORLD);
    MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm ring;
    int periodic = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    MPI_Neighbor_alltoall(out, 4, MPI_INT, in, 4, MPI_INT, ring);
    MPI_Comm_free(&ring);
}

/* Rank 0 alone, and the other two, of which rank 2 gathers. */
static void between_groups(void)
{
    MPI_Comm group, both;
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0, 0, &group);
    MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, rank > 0 ? 0 : 1, 5, &both);
    int root = rank == 0 ? 1 : rank == 2 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Gatherv(out, 6, MPI_INT, in, (int[]){6}, (int[]){0}, MPI_INT, root, both);
    MPI_Comm_free(&both);
    MPI_Comm_free(&group);
}

static void windows_and_files(const char *name)
{
    MPI_Win window;
    void *memory;
    MPI_Win_allocate(1000, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_fence(0, window);
    MPI_Put(out, 11, MPI_INT, (rank + 1) % size, 0, 11, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Get(out, 12, MPI_INT, (rank + 1) % size, 0, 12, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    MPI_File file;
    if (name && MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS) {
        MPI_File_write_at(file, 1000 * rank, out, 13, MPI_INT, MPI_STATUS_IGNORE);
        MPI_File_read_at(file, 1000 * rank, in, 12, MPI_INT, MPI_STATUS_IGNORE);
        MPI_File_close(&file);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    datatypes();
    collectives();
    between_groups();
    windows_and_files(argc > 1 ? argv[1] : NULL);
    /* A call that fails moves nothing. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (MPI_Send(out, 1000, MPI_INT, size + 5, 0, MPI_COMM_WORLD) == MPI_SUCCESS)
        fputs("it should fail\n", stdout);
    MPI_Finalize();
    if (rank == 0)
        fputs("done\n", stdout);
    return 0;
}

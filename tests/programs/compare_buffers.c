//# role: companion
//# lang: c
//# mpi: both
/* Messages that come in all ways in which calls return before they are there, or in which they have gaps; three ranks or more. compare_corrupt.c
 * is the tool that changes a byte of them on the last rank: what it receives in lines with `received`, what it sends in lines with `sent`. Of what
 * persistent requests move, and of what comes from windows and by functions of files with `_begin`, there are no hashes. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define WORLD MPI_COMM_WORLD
static int rank, size, next, prev, number;

/* No two messages are the same. */
static void fill(int *data, int count)
{
    for (int i = 0; i < count; i++)
        data[i] = 10000 * rank + 10 * number + i;
    number++;
}

static void to_next(int messages)
{
    static int data[16][4];
    for (int i = 0; i < messages; i++) {
        fill(data[i], 4);
        MPI_Request request;
        MPI_Isend(data[i], 4, MPI_INT, next, 0, WORLD, &request);
        MPI_Request_free(&request);
    }
}

static void requests(void)
{
    int a[8] = {0}, b[8] = {0}, index, count = 0, done, flag = 0, indices[2];
    MPI_Request one, two[2];
    MPI_Status status, statuses[2];
    to_next(16);
    MPI_Irecv(a, 8, MPI_INT, prev, 0, WORLD, &one); /* received */
    MPI_Wait(&one, &status);
    MPI_Irecv(a, 4, MPI_INT, prev, 0, WORLD, &one); /* received */
    MPI_Wait(&one, MPI_STATUS_IGNORE);
    MPI_Irecv(a, 8, MPI_INT, prev, 0, WORLD, &two[0]); /* received */
    MPI_Irecv(b, 8, MPI_INT, prev, 0, WORLD, &two[1]);
    MPI_Waitall(2, two, statuses);
    MPI_Irecv(a, 8, MPI_INT, prev, 0, WORLD, &two[0]); /* received */
    two[1] = MPI_REQUEST_NULL;
    MPI_Waitany(2, two, &index, &status);
    MPI_Irecv(a, 8, MPI_INT, prev, 0, WORLD, &two[1]); /* received */
    MPI_Waitsome(2, two, &count, indices, statuses);
    MPI_Irecv(a, 8, MPI_INT, prev, 0, WORLD, &one); /* received */
    while (!flag)
        MPI_Test(&one, &flag, &status);
    MPI_Irecv(a, 8, MPI_INT, prev, 0, WORLD, &two[0]); /* received */
    MPI_Irecv(b, 8, MPI_INT, prev, 0, WORLD, &two[1]);
    for (flag = 0; !flag;)
        MPI_Testall(2, two, &flag, statuses);
    MPI_Irecv(a, 8, MPI_INT, prev, 0, WORLD, &two[0]); /* received */
    for (flag = 0; !flag;)
        MPI_Testany(2, two, &index, &flag, &status);
    MPI_Irecv(a, 8, MPI_INT, prev, 0, WORLD, &two[1]); /* received */
    for (done = 0; done < 1; done += count)
        MPI_Testsome(2, two, &count, indices, statuses);
    /* Of those that are cancelled, and that are freed, nothing is known. */
    MPI_Irecv(a, 8, MPI_INT, prev, 1, WORLD, &one);
    MPI_Cancel(&one);
    MPI_Wait(&one, &status);
    MPI_Irecv(a, 8, MPI_INT, prev, 0, WORLD, &one);
    MPI_Request_free(&one);
    for (int i = 0; i < 4; i++)
        MPI_Recv(b, 8, MPI_INT, prev, 0, WORLD, &status);
    MPI_Barrier(WORLD);
}

static void collectives(void)
{
    int a[8] = {0}, *b = calloc(size, 8 * sizeof(int)), *counts = calloc(size, sizeof(int)), *places = calloc(size, sizeof(int));
    int *bytes = calloc(size, sizeof(int));
    MPI_Datatype *types = calloc(size, sizeof(MPI_Datatype)), pair;
    MPI_Request request;
    for (int i = 0; i < size; i++)
        counts[i] = 2, places[i] = 3 * i, bytes[i] = 12 * i, types[i] = MPI_INT;
    fill(a, 8);
    MPI_Ibcast(a, 8, MPI_INT, 0, WORLD, &request); /* received */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    fill(a, 8);
    MPI_Iallreduce(a, b, 8, MPI_INT, MPI_SUM, WORLD, &request); /* received */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    fill(a, 8);
    MPI_Iallreduce(MPI_IN_PLACE, a, 8, MPI_INT, MPI_SUM, WORLD, &request); /* received */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Igatherv(a, 2, MPI_INT, b, counts, places, MPI_INT, size - 1, WORLD, &request); /* received */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Ialltoallw(b, counts, bytes, types, b + 4 * size, counts, bytes, types, WORLD, &request); /* received */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    fill(b, 8 * size);
    /* Two numbers for each pair of ranks, those of a rank for itself with a gap. */
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    types[rank] = pair, counts[rank] = 1;
    MPI_Alltoallw(b, counts, bytes, types, b + 4 * size, counts, bytes, types, WORLD); /* sent */
    MPI_Type_free(&pair);
    free(b), free(counts), free(places), free(bytes), free(types);
}

static void gaps(void)
{
    struct item { char c; double d; int i; } items[3] = {{1, 1.5, 1}, {2, 2.5, 2}, {3, 3.5, 3}};
    struct { double d; int i; } pairs[2] = {{1, 2}, {3, 4}};
    int data[32], room[32] = {0};
    MPI_Datatype vector, freed, item, here, tuple;
    MPI_Request request;
    MPI_Status status;
    MPI_Aint places[] = {offsetof(struct item, c), offsetof(struct item, d), offsetof(struct item, i)}, address;
    int lengths[] = {1, 1, 1};
    MPI_Datatype members[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
    fill(data, 32);
    MPI_Type_vector(4, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    MPI_Type_create_struct(3, lengths, places, members, &tuple);
    MPI_Type_create_resized(tuple, 0, sizeof(struct item), &item);
    MPI_Type_commit(&item);
    MPI_Get_address(data, &address);
    MPI_Type_create_hindexed(1, (int[]){6}, &address, MPI_INT, &here);
    MPI_Type_commit(&here);
    MPI_Sendrecv(data, 2, vector, next, 2, room, 2, vector, prev, 2, WORLD, &status); /* sent */
    for (int i = 0; i < 2; i++)
        items[i].d += rank;
    MPI_Sendrecv(items, 2, item, next, 3, room, 32, MPI_INT, prev, 3, WORLD, &status); /* sent */
    MPI_Sendrecv(pairs, 2, MPI_DOUBLE_INT, next, 4, room, 32, MPI_INT, prev, 4, WORLD, &status); /* sent */
    fill(data, 32);
    MPI_Sendrecv(MPI_BOTTOM, 1, here, next, 5, room, 32, MPI_INT, prev, 5, WORLD, &status); /* sent */
    fill(data, 32);
    MPI_Type_dup(vector, &freed);
    MPI_Irecv(room, 2, freed, prev, 6, WORLD, &request); /* received */
    MPI_Type_free(&freed);
    MPI_Send(data, 8, MPI_INT, next, 6, WORLD); /* sent */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    fill(data, 8);
    MPI_Irecv(room, 3, vector, prev, 7, WORLD, &request); /* received */
    MPI_Send(data, 8, MPI_INT, next, 7, WORLD); /* sent */
    MPI_Wait(&request, &status);
    fill(room, 6);
    MPI_Irecv(MPI_BOTTOM, 1, here, prev, 8, WORLD, &request); /* received */
    MPI_Send(room, 6, MPI_INT, next, 8, WORLD); /* sent */
    MPI_Wait(&request, &status);
    MPI_Type_free(&vector);
    MPI_Type_free(&item);
    MPI_Type_free(&here);
    MPI_Type_free(&tuple);
    MPI_Barrier(WORLD);
}

static void persistent(void)
{
    int data[8] = {0}, room[8] = {0};
    MPI_Request two[2];
    MPI_Status statuses[2] = {0};
    MPI_Send_init(data, 8, MPI_INT, next, 9, WORLD, &two[0]);
    MPI_Recv_init(room, 8, MPI_INT, prev, 9, WORLD, &two[1]);
    fill(data, 8);
    MPI_Start(&two[1]);
    MPI_Start(&two[0]);
    MPI_Waitall(2, two, statuses);
    fill(data, 8);
    MPI_Startall(2, two);
    MPI_Waitall(2, two, statuses);
    MPI_Request_free(&two[0]);
    MPI_Request_free(&two[1]);
    MPI_Barrier(WORLD);
}

static void windows(void)
{
    int data[8], room[8] = {0}, *memory;
    MPI_Win window;
    fill(data, 8);
    MPI_Win_allocate(16 * sizeof(int), sizeof(int), MPI_INFO_NULL, WORLD, &memory, &window);
    fill(memory, 16);
    MPI_Win_fence(0, window);
    MPI_Put(data, 4, MPI_INT, next, 0, 4, MPI_INT, window); /* sent */
    MPI_Accumulate(data + 4, 4, MPI_INT, next, 4, 4, MPI_INT, MPI_SUM, window); /* sent */
    MPI_Get(room, 8, MPI_INT, prev, 8, 8, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_lock(MPI_LOCK_SHARED, prev, 0, window);
    MPI_Get(room, 6, MPI_INT, prev, 8, 6, MPI_INT, window);
    MPI_Win_flush(prev, window);
    MPI_Get(room, 7, MPI_INT, prev, 8, 7, MPI_INT, window);
    MPI_Win_unlock(prev, window);
    MPI_Win_free(&window);
}

static void files(void)
{
    int data[8], room[8] = {0};
    MPI_File file;
    MPI_Request request;
    fill(data, 8);
    MPI_File_open(WORLD, "data", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof data, data, 8, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(WORLD);
    MPI_File_iread_at(file, rank * (MPI_Offset)sizeof data, room, 8, MPI_INT, &request); /* received */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_read_at_all_begin(file, rank * (MPI_Offset)sizeof data, room, 8, MPI_INT);
    MPI_File_read_at_all_end(file, room, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    next = (rank + 1) % size;
    prev = (rank + size - 1) % size;
    requests();
    collectives();
    gaps();
    persistent();
    windows();
    files();
    printf("rank %d of %d\n", rank, size);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

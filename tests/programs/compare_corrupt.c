//# role: companion
//# lang: c
//# mpi: both
/* A PMPI tool for compare_buffers.c, and ports of it with a mistake on the last rank: -DRECEIVED changes the first byte of what has come whenever
 * something is complete, -DSENT that of what is sent, and -DGAP a byte in the gap behind the first number, which is none of the message's. */
#include <mpi.h>
#include <stddef.h>

static unsigned char *coming;

static int is_last(void)
{
    int rank, size;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    return rank == size - 1;
}

static unsigned char *first(const void *buffer, MPI_Datatype type)
{
    MPI_Aint start, length;
    PMPI_Type_get_true_extent(type, &start, &length);
    return (unsigned char *)buffer + start;
}

static void receive(void *buffer, MPI_Datatype type)
{
    if (!coming)
        coming = first(buffer, type);
}

/* What was begun first is complete. */
static void complete(int flag)
{
    int last = is_last();
#ifdef RECEIVED
    if (flag && coming && last)
        *coming ^= 1;
#endif
    (void)last;
    if (flag)
        coming = NULL;
}

static void send(const void *buffer, MPI_Datatype type)
{
    int size, last = is_last();
    MPI_Aint start, length;
    PMPI_Type_size(type, &size);
    PMPI_Type_get_true_extent(type, &start, &length);
    unsigned char *bytes = (unsigned char *)buffer + start;
#ifdef SENT
    if (last)
        bytes[0] ^= 1;
#endif
#ifdef GAP
    if (last && length > size)
        bytes[5] ^= 1; /* a vector of numbers, or a structure of a character and others */
#endif
    (void)last, (void)bytes;
}

int MPI_Irecv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request)
{
    receive(buf, type);
    return PMPI_Irecv(buf, count, type, source, tag, comm, request);
}

int MPI_Ibcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request)
{
    receive(buf, type);
    return PMPI_Ibcast(buf, count, type, root, comm, request);
}

int MPI_Iallreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    receive(to, type);
    return PMPI_Iallreduce(from, to, count, type, op, comm, request);
}

int MPI_Igatherv(const void *from, int count, MPI_Datatype type, void *to, const int counts[], const int places[], MPI_Datatype to_type,
                 int root, MPI_Comm comm, MPI_Request *request)
{
    receive(to, to_type);
    return PMPI_Igatherv(from, count, type, to, counts, places, to_type, root, comm, request);
}

int MPI_Ialltoallw(const void *from, const int counts[], const int places[], const MPI_Datatype types[], void *to, const int to_counts[],
                   const int to_places[], const MPI_Datatype to_types[], MPI_Comm comm, MPI_Request *request)
{
    receive((char *)to + to_places[0], to_types[0]);
    return PMPI_Ialltoallw(from, counts, places, types, to, to_counts, to_places, to_types, comm, request);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    int result = PMPI_Wait(request, status), is_cancelled = 0;
    if (status != MPI_STATUS_IGNORE)
        PMPI_Test_cancelled(status, &is_cancelled);
    if (is_cancelled)
        coming = NULL;
    complete(1);
    return result;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    int result = PMPI_Waitall(count, requests, statuses);
    complete(1);
    return result;
}

int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    int result = PMPI_Waitany(count, requests, index, status);
    complete(1);
    return result;
}

int MPI_Waitsome(int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[])
{
    int result = PMPI_Waitsome(count, requests, done, indices, statuses);
    complete(*done > 0);
    return result;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    int result = PMPI_Test(request, flag, status);
    complete(*flag);
    return result;
}

int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    int result = PMPI_Testall(count, requests, flag, statuses);
    complete(*flag);
    return result;
}

int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    int result = PMPI_Testany(count, requests, index, flag, status);
    complete(*flag);
    return result;
}

int MPI_Testsome(int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[])
{
    int result = PMPI_Testsome(count, requests, done, indices, statuses);
    complete(*done > 0);
    return result;
}

int MPI_Request_free(MPI_Request *request)
{
    coming = NULL;
    return PMPI_Request_free(request);
}

int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    send(buf, type);
    return PMPI_Send(buf, count, type, dest, tag, comm);
}

int MPI_Sendrecv(const void *buf, int count, MPI_Datatype type, int dest, int tag, void *to, int to_count, MPI_Datatype to_type, int source,
                 int to_tag, MPI_Comm comm, MPI_Status *status)
{
    send(buf, type);
    return PMPI_Sendrecv(buf, count, type, dest, tag, to, to_count, to_type, source, to_tag, comm, status);
}

int MPI_Alltoallw(const void *from, const int counts[], const int places[], const MPI_Datatype types[], void *to, const int to_counts[],
                  const int to_places[], const MPI_Datatype to_types[], MPI_Comm comm)
{
    int size;
    PMPI_Comm_size(comm, &size);
    send((const char *)from + places[size - 1], types[size - 1]);
    return PMPI_Alltoallw(from, counts, places, types, to, to_counts, to_places, to_types, comm);
}

int MPI_Put(const void *buf, int count, MPI_Datatype type, int target, MPI_Aint place, int to_count, MPI_Datatype to_type, MPI_Win window)
{
    send(buf, type);
    return PMPI_Put(buf, count, type, target, place, to_count, to_type, window);
}

int MPI_Accumulate(const void *buf, int count, MPI_Datatype type, int target, MPI_Aint place, int to_count, MPI_Datatype to_type, MPI_Op op,
                   MPI_Win window)
{
    send(buf, type);
    return PMPI_Accumulate(buf, count, type, target, place, to_count, to_type, op, window);
}

int MPI_File_iread_at(MPI_File file, MPI_Offset offset, void *buf, int count, MPI_Datatype type, MPI_Request *request)
{
    receive(buf, type);
    return PMPI_File_iread_at(file, offset, buf, count, type, request);
}

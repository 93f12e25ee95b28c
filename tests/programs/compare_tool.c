//# role: companion
//# lang: c
//# mpi: both
/* A PMPI tool that counts, and with -DDEFECT_... a port of it with one mistake. Those that can be on one rank alone are on the last one. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum function { SEND, RECV, ISEND, IRECV, WAIT, PROBE, GET_COUNT, BARRIER, BCAST, ALLREDUCE, SPLIT, SET_NAME, TYPE_SIZE, FUNCTIONS };
static const char *const names[FUNCTIONS] = { "MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Wait", "MPI_Probe", "MPI_Get_count",
                                              "MPI_Barrier", "MPI_Bcast", "MPI_Allreduce", "MPI_Comm_split", "MPI_Comm_set_name",
                                              "MPI_Type_size" };
static int calls[FUNCTIONS];

static int is_last(void)
{
    int rank, size;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    return rank == size - 1;
}

int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    calls[SEND]++;
    int last = is_last();
#ifdef DEFECT_LEAKED_REQUEST
    if (last) {
        MPI_Request request;
        return PMPI_Isend(buf, count, type, dest, tag, comm, &request); /* a small message gets there all the same */
    }
#endif
#ifdef DEFECT_CORRUPTED
    if (last && count == 1) {
        static int sent; /* the third one is wrong, in one byte */
        int copy = *(const int *)buf;
        if (dest != MPI_PROC_NULL && ++sent == 3)
            ((unsigned char *)&copy)[2] ^= 1;
        return PMPI_Send(&copy, count, type, dest, tag, comm);
    }
#endif
    (void)last;
    return PMPI_Send(buf, count, type, dest, tag, comm);
}

int MPI_Recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    calls[RECV]++;
    return PMPI_Recv(buf, count, type, source, tag, comm, status);
}

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request *request)
{
    calls[ISEND]++;
#ifdef DEFECT_DOUBLE_COUNT
    calls[ISEND]++;
#endif
    return PMPI_Isend(buf, count, type, dest, tag, comm, request);
}

int MPI_Irecv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request)
{
    calls[IRECV]++;
    return PMPI_Irecv(buf, count, type, source, tag, comm, request);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    calls[WAIT]++;
    return PMPI_Wait(request, status);
}

#ifndef DEFECT_MISSING_FUNCTION
int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    calls[PROBE]++;
    return PMPI_Probe(source, tag, comm, status);
}
#endif

int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count)
{
    calls[GET_COUNT]++;
    int result = PMPI_Get_count(status, type, count);
#ifdef DEFECT_RESULT_CODE
    if (is_last())
        return MPI_ERR_OTHER;
#else
    (void)is_last();
#endif
    return result;
}

int MPI_Barrier(MPI_Comm comm)
{
    calls[BARRIER]++;
#ifdef DEFECT_ABORTS
    const char *path = getenv("COMPARE_RUNS"); /* has a byte for each run; without it each run is a third one */
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    FILE *runs = rank == 0 && path ? fopen(path, "a") : NULL;
    if (runs) {
        fputc('.', runs);
        fflush(runs);
    }
    if (rank == 0 && (!runs || ftell(runs) % 3 == 0))
        abort();
    if (runs)
        fclose(runs);
#endif
#ifdef DEFECT_COMMUNICATOR
    comm = MPI_COMM_WORLD;
#endif
    return PMPI_Barrier(comm);
}

int MPI_Bcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    char name[MPI_MAX_OBJECT_NAME];
    int rank, bytes;
    calls[BCAST]++;
    int last = is_last();
#ifndef DEFECT_ORDER
    last = 0;
#endif
    if (last)
        PMPI_Type_size(type, &bytes);
    PMPI_Comm_get_name(comm, name, &rank);
    if (!last)
        PMPI_Type_size(type, &bytes);
    return PMPI_Bcast(buf, count, type, root, comm);
}

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    calls[ALLREDUCE]++;
    return PMPI_Allreduce(from, to, count, type, op, comm);
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *part)
{
    calls[SPLIT]++;
#ifdef DEFECT_SWAPPED
    if (is_last())
        return PMPI_Comm_split(comm, key, color, part);
#else
    (void)is_last();
#endif
    return PMPI_Comm_split(comm, color, key, part);
}

int MPI_Comm_set_name(MPI_Comm comm, const char *name)
{
    calls[SET_NAME]++;
#ifdef DEFECT_DROPPED
    if (is_last())
        return MPI_SUCCESS;
#else
    (void)is_last();
#endif
    return PMPI_Comm_set_name(comm, name);
}

/* As long as this, by the clock. */
static void spend(long nanoseconds)
{
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000000L + now.tv_nsec - from.tv_nsec < nanoseconds);
}

int MPI_Type_size(MPI_Datatype type, int *size)
{
    calls[TYPE_SIZE]++;
#ifdef DEFECT_SLOW
    spend(50000); /* a hundred times as much as the call */
#elif defined BUSY_MACHINE
    if (calls[TYPE_SIZE] % 10 == 0)
        spend(300000); /* the machine does something else */
#else
    (void)spend;
#endif
    return PMPI_Type_size(type, size);
}

int MPI_Finalize(void)
{
    int sums[FUNCTIONS], rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Reduce(calls, sums, FUNCTIONS, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int f = 0; rank == 0 && f < FUNCTIONS; f++) {
#ifdef DEFECT_LOST_LINE
        if (f == ALLREDUCE)
            continue;
#endif
        printf("tool: %s %d\n", names[f], sums[f]);
    }
    fflush(stdout);
    return PMPI_Finalize();
}

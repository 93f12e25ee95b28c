//# lang: c
//# mpi: both
//# env: COUNTER=label=demo
//# program: ring.c
/* counter: how often the program calls MPI, with how many bytes, and for how long.
 *
 * The tool of the demonstration, and an example of how any PMPI tool is written: define MPI_Send, do what you
 * like, call PMPI_Send. At MPI_Finalize the numbers of all ranks are summed up and rank 0 prints one table.
 *
 * Bytes are what the arguments of a call say: what is sent, and for a receive the room there is.
 *
 *     COUNTER=label=outer,file=outer.txt      title of the table; where to (default: stdout)
 *
 * It stands for every tool that keeps its state in globals: two copies of it in one process must count apart.
 * A copy further inside also sees the MPI_Reduce with which a copy further outside gathers its table.
 *
 * Build: mpicc -shared -fPIC -O2 counter.c -o counter.so */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FUNCTIONS(X)                                                                                             \
    X(Init) X(Init_thread) X(Finalize)                                                                           \
    X(Send) X(Recv) X(Isend) X(Irecv) X(Wait) X(Waitall) X(Sendrecv) X(Probe) X(Iprobe) X(Get_count)             \
    X(Barrier) X(Bcast) X(Reduce) X(Allreduce) X(Gather) X(Allgather) X(Scatter) X(Alltoall)                     \
    X(Comm_dup) X(Comm_split) X(Comm_free)

#define AS_ENUM(f) F_##f,
#define AS_NAME(f) "MPI_" #f,
enum function { FUNCTIONS(AS_ENUM) FUNCTION_COUNT };
static const char *const names[] = { FUNCTIONS(AS_NAME) };

/* One row per function. Atomic, because a program may call MPI from several threads. */
static struct {
    _Atomic long long calls, bytes, nanoseconds;
} totals[FUNCTION_COUNT];

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t); /* not PMPI_Wtime: MPI_Init is timed, too */
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void record(enum function f, long long bytes, long long start)
{
    totals[f].calls += 1;
    totals[f].bytes += bytes;
    totals[f].nanoseconds += now() - start;
}

/* Bytes in a buffer. Nothing is sent from MPI_IN_PLACE, and the type beside it need not be valid. */
static long long bytes_in(const void *buffer, int count, MPI_Datatype type)
{
    int size = 0;
    if (buffer != MPI_IN_PLACE && type != MPI_DATATYPE_NULL)
        PMPI_Type_size(type, &size);
    return (long long)count * size;
}

static int members(MPI_Comm comm)
{
    int size = 0;
    PMPI_Comm_size(comm, &size);
    return size;
}

/* The body of every wrapper: call the function one level down, and note what it took. */
#define WRAP(f, bytes, ...)                \
    {                                      \
        long long sent = (bytes);          \
        long long start = now();           \
        int result = PMPI_##f(__VA_ARGS__); \
        record(F_##f, sent, start);        \
        return result;                     \
    }

int MPI_Init(int *argc, char ***argv) WRAP(Init, 0, argc, argv)
int MPI_Init_thread(int *argc, char ***argv, int wanted, int *got) WRAP(Init_thread, 0, argc, argv, wanted, got)
int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
    WRAP(Send, bytes_in(b, n, t), b, n, t, to, tag, c)
int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
    WRAP(Recv, bytes_in(b, n, t), b, n, t, from, tag, c, s)
int MPI_Isend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r)
    WRAP(Isend, bytes_in(b, n, t), b, n, t, to, tag, c, r)
int MPI_Irecv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r)
    WRAP(Irecv, bytes_in(b, n, t), b, n, t, from, tag, c, r)
int MPI_Wait(MPI_Request *r, MPI_Status *s) WRAP(Wait, 0, r, s)
int MPI_Waitall(int n, MPI_Request r[], MPI_Status s[]) WRAP(Waitall, 0, n, r, s)
int MPI_Sendrecv(const void *b, int n, MPI_Datatype t, int to, int tag, void *rb, int rn, MPI_Datatype rt,
                 int from, int rtag, MPI_Comm c, MPI_Status *s)
    WRAP(Sendrecv, bytes_in(b, n, t) + bytes_in(rb, rn, rt), b, n, t, to, tag, rb, rn, rt, from, rtag, c, s)
int MPI_Probe(int from, int tag, MPI_Comm c, MPI_Status *s) WRAP(Probe, 0, from, tag, c, s)
int MPI_Iprobe(int from, int tag, MPI_Comm c, int *flag, MPI_Status *s) WRAP(Iprobe, 0, from, tag, c, flag, s)
int MPI_Get_count(const MPI_Status *s, MPI_Datatype t, int *n) WRAP(Get_count, 0, s, t, n)
int MPI_Barrier(MPI_Comm c) WRAP(Barrier, 0, c)
int MPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c) WRAP(Bcast, bytes_in(b, n, t), b, n, t, root, c)
int MPI_Reduce(const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c)
    WRAP(Reduce, bytes_in(b, n, t), b, rb, n, t, op, root, c)
int MPI_Allreduce(const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c)
    WRAP(Allreduce, bytes_in(b, n, t), b, rb, n, t, op, c)
int MPI_Gather(const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, int root, MPI_Comm c)
    WRAP(Gather, bytes_in(b, n, t), b, n, t, rb, rn, rt, root, c)
int MPI_Allgather(const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, MPI_Comm c)
    WRAP(Allgather, bytes_in(b, n, t), b, n, t, rb, rn, rt, c)
int MPI_Scatter(const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, int root, MPI_Comm c)
    WRAP(Scatter, bytes_in(rb, rn, rt), b, n, t, rb, rn, rt, root, c)
int MPI_Alltoall(const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, MPI_Comm c)
    WRAP(Alltoall, bytes_in(b, n, t) * members(c), b, n, t, rb, rn, rt, c)
int MPI_Comm_dup(MPI_Comm c, MPI_Comm *dup) WRAP(Comm_dup, 0, c, dup)
int MPI_Comm_split(MPI_Comm c, int color, int key, MPI_Comm *part) WRAP(Comm_split, 0, c, color, key, part)
int MPI_Comm_free(MPI_Comm *c) WRAP(Comm_free, 0, c)

/* Copies the value of `key=` in COUNTER to `value`, which keeps its default if there is none. */
static void setting(const char *key, char *value, size_t room)
{
    const char *all = getenv("COUNTER");
    size_t length = strlen(key);
    while (all && *all) {
        size_t item = strcspn(all, ",");
        if (item > length && strncmp(all, key, length) == 0 && all[length] == '=')
            snprintf(value, room, "%.*s", (int)(item - length - 1), all + length + 1);
        all += item + (all[item] == ',');
    }
}

static void print_table(long long sums[][3], int ranks)
{
    char label[64] = "counter", path[4096] = "";
    setting("label", label, sizeof label);
    setting("file", path, sizeof path);
    FILE *out = path[0] ? fopen(path, "w") : stdout;
    if (!out) {
        perror(path);
        return;
    }
    fprintf(out, "%s: MPI calls of %d ranks\n  %-16s %10s %14s %12s\n", label, ranks, "function", "calls", "bytes",
            "seconds");
    for (int f = 0; f < FUNCTION_COUNT; f++)
        if (sums[f][0])
            fprintf(out, "  %-16s %10lld %14lld %12.6f\n", names[f], sums[f][0], sums[f][1], sums[f][2] / 1e9);
    if (out != stdout)
        fclose(out);
}

int MPI_Finalize(void)
{
    long long mine[FUNCTION_COUNT][3], sums[FUNCTION_COUNT][3];
    int rank;
    record(F_Finalize, 0, now()); /* the call is counted; it cannot be timed before it is over */
    for (int f = 0; f < FUNCTION_COUNT; f++) {
        mine[f][0] = totals[f].calls;
        mine[f][1] = totals[f].bytes;
        mine[f][2] = totals[f].nanoseconds;
    }
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Reduce(mine, sums, 3 * FUNCTION_COUNT, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        print_table(sums, members(MPI_COMM_WORLD));
    return PMPI_Finalize();
}

//# kind: qmpi
//# lang: c
//# mpi: both
/* counter: counter.c as a native QMPI tool, with the same report. Made to be read beside it, line by line.
 *
 * What was global is in `struct counter`, one for each instance, which QMPI keeps as the tool's storage. What was PMPI_f
 * is the next link for f, which QMPI names. The library registers three names, for three kinds of instance:
 *
 *     counter             all calls
 *     rows, columns       only calls on communicators with that name (MPI_Comm_set_name)
 *
 *     COUNTER=label=outer,file=outer.txt      title of the table; where to (default: stdout)
 *     COUNTER=rows.file=r.txt,columns.file=c.txt      the same for one instance, by its name
 *
 * An instance is called by its name, the second of that name `counter#2`. All of them live in one library, in one
 * environment: so a setting may begin with the name of the instance that it is for.
 *
 * Build: mpicc -shared -fPIC -O2 -I ../bridge/include qmpi_counter.c -o qmpi_counter.so */
#include <pthread.h>
#include <qmpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FUNCTIONS(X)                                                                                             \
    X(Init, INIT) X(Init_thread, INIT_THREAD) X(Finalize, FINALIZE)                                              \
    X(Send, SEND) X(Recv, RECV) X(Isend, ISEND) X(Irecv, IRECV) X(Wait, WAIT) X(Waitall, WAITALL)                \
    X(Sendrecv, SENDRECV) X(Probe, PROBE) X(Iprobe, IPROBE) X(Get_count, GET_COUNT)                              \
    X(Barrier, BARRIER) X(Bcast, BCAST) X(Reduce, REDUCE) X(Allreduce, ALLREDUCE) X(Gather, GATHER)              \
    X(Allgather, ALLGATHER) X(Scatter, SCATTER) X(Alltoall, ALLTOALL)                                            \
    X(Comm_dup, COMM_DUP) X(Comm_split, COMM_SPLIT) X(Comm_free, COMM_FREE)

/* Functions that are called, or watched, but not counted. */
#define OTHER_FUNCTIONS(X)                                                                                       \
    X(Comm_set_name, COMM_SET_NAME) X(Comm_disconnect, COMM_DISCONNECT)                                          \
    X(Comm_get_name, COMM_GET_NAME) X(Comm_rank, COMM_RANK) X(Comm_size, COMM_SIZE) X(Type_size, TYPE_SIZE)

#define AS_ENUM(f, F) F_##f,
#define AS_NAME(f, F) "MPI_" #f,
#define AS_NUMBER(f, F) MPI_##F##_T,
enum function { FUNCTIONS(AS_ENUM) OTHER_FUNCTIONS(AS_ENUM) LINK_COUNT, FUNCTION_COUNT = F_Comm_set_name };
static const char *const names[] = { FUNCTIONS(AS_NAME) };
static const int numbers[] = { FUNCTIONS(AS_NUMBER) OTHER_FUNCTIONS(AS_NUMBER) };

/* The next function, and the tool id that it wants. */
struct link {
    void (*call)(void);
    int tool;
};

#define MOST_KNOWN 64

/* One instance. */
struct counter {
    char label[64];
    const char *only; /* the name of the communicators whose calls are counted; null for all calls */
    struct link next[LINK_COUNT];
    atomic_int has_links;
    pthread_mutex_t lock;
    /* One row per function. Atomic, because a program may call MPI from several threads. */
    struct {
        _Atomic long long calls, bytes, nanoseconds;
    } totals[FUNCTION_COUNT];
    /* Communicators that were asked for their name. */
    struct {
        MPI_Comm comm;
        int is_counted;
    } known[MOST_KNOWN];
    int known_count;
};

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t); /* not MPI_Wtime: MPI_Init is timed, too */
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void record(struct counter *self, enum function f, long long bytes, long long start)
{
    self->totals[f].calls += 1;
    self->totals[f].bytes += bytes;
    self->totals[f].nanoseconds += now() - start;
}

/* The next functions never change, so QMPI is asked once: at the first call that comes to this instance. */
static void find_links(struct counter *self, int tool)
{
    pthread_mutex_lock(&self->lock);
    for (int f = 0; f < LINK_COUNT; f++)
        QMPI_Get_function(tool, numbers[f], &self->next[f].call, &self->next[f].tool);
    atomic_store(&self->has_links, 1);
    pthread_mutex_unlock(&self->lock);
}

/* The instance that a wrapper was called for. */
static struct counter *instance(QMPI_Context context, int tool)
{
    void *storage = NULL;
    QMPI_Get_tool_storage(context, tool, &storage);
    struct counter *self = storage;
    if (!atomic_load(&self->has_links))
        find_links(self, tool);
    return self;
}

/* What was PMPI_##f(...). Stands where `context` and `self` are known. */
#define NEXT(f) ((QMPI_##f##_t *)self->next[F_##f].call)
#define CALL(f, ...) NEXT(f)(context, self->next[F_##f].tool, __VA_ARGS__)

/* Bytes in a buffer. Nothing is sent from MPI_IN_PLACE, and the type beside it need not be valid. */
static long long bytes_in(QMPI_Context context, struct counter *self, const void *buffer, int count, MPI_Datatype type)
{
    int size = 0;
    if (buffer != MPI_IN_PLACE && type != MPI_DATATYPE_NULL)
        CALL(Type_size, type, &size);
    return (long long)count * size;
}

static int members_of(QMPI_Context context, struct counter *self, MPI_Comm comm)
{
    int size = 0;
    CALL(Comm_size, comm, &size);
    return size;
}

/* Does this instance count calls on the communicator? The answer is kept, as the name seldom changes. */
static int is_counted(QMPI_Context context, struct counter *self, MPI_Comm comm)
{
    if (!self->only)
        return 1;
    if (comm == MPI_COMM_NULL)
        return 0;
    pthread_mutex_lock(&self->lock);
    int answer = -1;
    for (int i = 0; i < self->known_count && answer < 0; i++)
        if (self->known[i].comm == comm)
            answer = self->known[i].is_counted;
    pthread_mutex_unlock(&self->lock);
    if (answer >= 0)
        return answer;
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    CALL(Comm_get_name, comm, name, &length);
    answer = strcmp(name, self->only) == 0;
    pthread_mutex_lock(&self->lock);
    if (self->known_count < MOST_KNOWN) {
        self->known[self->known_count].comm = comm;
        self->known[self->known_count++].is_counted = answer;
    }
    pthread_mutex_unlock(&self->lock);
    return answer;
}

/* Its name changes, or it ends, and another one may get the same handle. */
static void forget(struct counter *self, MPI_Comm comm)
{
    pthread_mutex_lock(&self->lock);
    for (int i = self->known_count - 1; i >= 0; i--)
        if (self->known[i].comm == comm)
            self->known[i] = self->known[--self->known_count];
    pthread_mutex_unlock(&self->lock);
}

#define BYTES(b, n, t) bytes_in(context, self, b, n, t)
#define MEMBERS(c) members_of(context, self, c)
#define ME QMPI_Context context, int tool
#define NONE MPI_COMM_NULL /* a call without a communicator */

/* The body of every wrapper: call the function one level down, and note what it took. */
#define WRAP(f, comm, bytes, ...)                             \
    {                                                         \
        struct counter *self = instance(context, tool);       \
        int counts = is_counted(context, self, comm);         \
        long long sent = counts ? (bytes) : 0;                \
        long long start = now();                              \
        int result = CALL(f, __VA_ARGS__);                    \
        if (counts)                                           \
            record(self, F_##f, sent, start);                 \
        return result;                                        \
    }

static int wrap_Init(ME, int *argc, char ***argv) WRAP(Init, NONE, 0, argc, argv)
static int wrap_Init_thread(ME, int *argc, char ***argv, int wanted, int *got)
    WRAP(Init_thread, NONE, 0, argc, argv, wanted, got)
static int wrap_Send(ME, const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
    WRAP(Send, c, BYTES(b, n, t), b, n, t, to, tag, c)
static int wrap_Recv(ME, void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
    WRAP(Recv, c, BYTES(b, n, t), b, n, t, from, tag, c, s)
static int wrap_Isend(ME, const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r)
    WRAP(Isend, c, BYTES(b, n, t), b, n, t, to, tag, c, r)
static int wrap_Irecv(ME, void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r)
    WRAP(Irecv, c, BYTES(b, n, t), b, n, t, from, tag, c, r)
static int wrap_Wait(ME, MPI_Request *r, MPI_Status *s) WRAP(Wait, NONE, 0, r, s)
static int wrap_Waitall(ME, int n, MPI_Request r[], MPI_Status s[]) WRAP(Waitall, NONE, 0, n, r, s)
static int wrap_Sendrecv(ME, const void *b, int n, MPI_Datatype t, int to, int tag, void *rb, int rn, MPI_Datatype rt,
                         int from, int rtag, MPI_Comm c, MPI_Status *s)
    WRAP(Sendrecv, c, BYTES(b, n, t) + BYTES(rb, rn, rt), b, n, t, to, tag, rb, rn, rt, from, rtag, c, s)
static int wrap_Probe(ME, int from, int tag, MPI_Comm c, MPI_Status *s) WRAP(Probe, c, 0, from, tag, c, s)
static int wrap_Iprobe(ME, int from, int tag, MPI_Comm c, int *flag, MPI_Status *s)
    WRAP(Iprobe, c, 0, from, tag, c, flag, s)
static int wrap_Get_count(ME, const MPI_Status *s, MPI_Datatype t, int *n) WRAP(Get_count, NONE, 0, s, t, n)
static int wrap_Barrier(ME, MPI_Comm c) WRAP(Barrier, c, 0, c)
static int wrap_Bcast(ME, void *b, int n, MPI_Datatype t, int root, MPI_Comm c)
    WRAP(Bcast, c, BYTES(b, n, t), b, n, t, root, c)
static int wrap_Reduce(ME, const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c)
    WRAP(Reduce, c, BYTES(b, n, t), b, rb, n, t, op, root, c)
static int wrap_Allreduce(ME, const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c)
    WRAP(Allreduce, c, BYTES(b, n, t), b, rb, n, t, op, c)
static int wrap_Gather(ME, const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, int root,
                       MPI_Comm c)
    WRAP(Gather, c, BYTES(b, n, t), b, n, t, rb, rn, rt, root, c)
static int wrap_Allgather(ME, const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, MPI_Comm c)
    WRAP(Allgather, c, BYTES(b, n, t), b, n, t, rb, rn, rt, c)
static int wrap_Scatter(ME, const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, int root,
                        MPI_Comm c)
    WRAP(Scatter, c, BYTES(rb, rn, rt), b, n, t, rb, rn, rt, root, c)
static int wrap_Alltoall(ME, const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, MPI_Comm c)
    WRAP(Alltoall, c, BYTES(b, n, t) * MEMBERS(c), b, n, t, rb, rn, rt, c)
static int wrap_Comm_dup(ME, MPI_Comm c, MPI_Comm *dup) WRAP(Comm_dup, c, 0, c, dup)
static int wrap_Comm_split(ME, MPI_Comm c, int color, int key, MPI_Comm *part)
    WRAP(Comm_split, c, 0, c, color, key, part)

static int wrap_Comm_free(ME, MPI_Comm *c)
{
    struct counter *self = instance(context, tool);
    int counts = is_counted(context, self, *c);
    forget(self, *c);
    long long start = now();
    int result = CALL(Comm_free, c);
    if (counts)
        record(self, F_Comm_free, 0, start);
    return result;
}

static int wrap_Comm_disconnect(ME, MPI_Comm *c)
{
    struct counter *self = instance(context, tool);
    forget(self, *c);
    return CALL(Comm_disconnect, c);
}

static int wrap_Comm_set_name(ME, MPI_Comm c, const char *name)
{
    struct counter *self = instance(context, tool);
    int result = CALL(Comm_set_name, c, name);
    forget(self, c);
    return result;
}

/* Copies the value of `key=`, or of `LABEL.key=`, in COUNTER to `value`, which keeps its default if there is none. */
static void setting(const char *label, const char *key, char *value, size_t room)
{
    const char *all = getenv("COUNTER");
    size_t length = strlen(key), own = strlen(label);
    while (all && *all) {
        size_t item = strcspn(all, ","), skip = 0;
        if (item > own && strncmp(all, label, own) == 0 && all[own] == '.')
            skip = own + 1;
        if (item > skip + length && strncmp(all + skip, key, length) == 0 && all[skip + length] == '=')
            snprintf(value, room, "%.*s", (int)(item - skip - length - 1), all + skip + length + 1);
        all += item + (all[item] == ',');
    }
}

static void print_table(struct counter *self, long long sums[][3], int ranks)
{
    char label[64], path[4096] = "";
    snprintf(label, sizeof label, "%s", self->label);
    setting(self->label, "label", label, sizeof label);
    setting(self->label, "file", path, sizeof path);
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

static int wrap_Finalize(ME)
{
    struct counter *self = instance(context, tool);
    long long mine[FUNCTION_COUNT][3], sums[FUNCTION_COUNT][3];
    int rank;
    if (is_counted(context, self, NONE))
        record(self, F_Finalize, 0, now()); /* the call is counted; it cannot be timed before it is over */
    for (int f = 0; f < FUNCTION_COUNT; f++) {
        mine[f][0] = self->totals[f].calls;
        mine[f][1] = self->totals[f].bytes;
        mine[f][2] = self->totals[f].nanoseconds;
    }
    CALL(Comm_rank, MPI_COMM_WORLD, &rank);
    CALL(Reduce, mine, sums, 3 * FUNCTION_COUNT, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        print_table(self, sums, MEMBERS(MPI_COMM_WORLD));
    return NEXT(Finalize)(context, self->next[F_Finalize].tool);
}

/* Makes an instance: its storage, and what it intercepts. */
static void start(int tool, const char *name, const char *only, int number)
{
    static void (*const wrappers[])(void) = {
#define AS_WRAPPER(f, F) (void (*)(void))wrap_##f,
        FUNCTIONS(AS_WRAPPER)
        (void (*)(void))wrap_Comm_set_name, (void (*)(void))wrap_Comm_disconnect
    };
    struct counter *self = calloc(1, sizeof *self);
    if (!self)
        return; /* intercepts nothing */
    if (number > 1)
        snprintf(self->label, sizeof self->label, "%s#%d", name, number);
    else
        snprintf(self->label, sizeof self->label, "%s", name);
    self->only = only;
    pthread_mutex_init(&self->lock, NULL);
    QMPI_Register_tool_storage(tool, self);
    for (size_t f = 0; f < sizeof wrappers / sizeof wrappers[0]; f++)
        QMPI_Register_function(tool, numbers[f], wrappers[f]);
}

/* Called once for each instance of the name; and the names, as the library is loaded. */
#define TOOL(name, only)                          \
    static void start_##name(int tool)            \
    {                                             \
        static int number;                        \
        start(tool, #name, only, ++number);       \
    }
TOOL(counter, NULL)
TOOL(rows, "rows")
TOOL(columns, "columns")

__attribute__((constructor)) static void register_names(void)
{
    QMPI_Register_tool_name("counter", start_counter);
    QMPI_Register_tool_name("rows", start_rows);
    QMPI_Register_tool_name("columns", start_columns);
}

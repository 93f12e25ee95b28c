//# role: companion
//# lang: c
//# mpi: both
/* A tool that keeps the requests that it saw started, and says at the end which it saw completed. With -DAS_QMPI a QMPI tool, which
 * registers the names outer, middle and inner; else a PMPI tool, whose label is WATCH_LABEL.
 *
 *     watch LABEL rank R: MPI_Isend=10 ... started=20 completed=20 unknown=0 mixed=0 left=0
 *
 * unknown: calls with requests of which it has seen none started; mixed: calls with some that it saw started and some that it did not. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef AS_QMPI
#include <qmpi.h>
#endif

#define FUNCTIONS(X)                                                                                             \
    X(Init, INIT) X(Init_thread, INIT_THREAD) X(Finalize, FINALIZE) X(Barrier, BARRIER)    \
    X(Comm_rank, COMM_RANK) X(Comm_dup, COMM_DUP) X(Comm_free, COMM_FREE) X(Isend, ISEND) X(Issend, ISSEND) X(Irecv, IRECV) \
    X(Send_init, SEND_INIT) X(Recv_init, RECV_INIT) X(Start, START) X(Startall, STARTALL) X(Wait, WAIT)           \
    X(Waitall, WAITALL) X(Test, TEST) X(Testsome, TESTSOME) X(Waitany, WAITANY) X(Request_free, REQUEST_FREE)     \
    X(Request_get_status, REQUEST_GET_STATUS) X(Alltoall, ALLTOALL)

enum {
#define X(f, F) F_##f,
    FUNCTIONS(X)
#undef X
        COUNT,
    SLOTS = 1 << 16,
    MOST = 64
};

struct watch {
    const char *label;
    atomic_llong calls[COUNT], started, completed, unknown, mixed, duplicate;
    pthread_mutex_t lock;
    uintptr_t known[SLOTS];
    char used[SLOTS];
#ifdef AS_QMPI
    struct {
        void (*call)(void);
        int tool;
    } next[COUNT];
    pthread_once_t once;
    int id;
#endif
};

static uintptr_t key(MPI_Request request)
{
    uintptr_t value = 0;
    memcpy(&value, &request, sizeof request);
    return value;
}

/* The slot of a request, or the one where it would be. Nothing is ever moved. */
static long find(struct watch *w, uintptr_t value, int add)
{
    long first = -1;
    for (long n = 0, i = (long)((value >> 3) * 2654435761u % SLOTS); n < SLOTS; n++, i = (i + 1) % SLOTS) {
        if (w->used[i] == 1 && w->known[i] == value)
            return i;
        if (w->used[i] != 1 && first < 0)
            first = i;
        if (w->used[i] == 0)
            break;
    }
    return add ? first : -1;
}

static void add(struct watch *w, MPI_Request request)
{
    pthread_mutex_lock(&w->lock);
    long i = find(w, key(request), 1);
    if (w->used[i] == 1)
        w->duplicate++;
    w->used[i] = 1;
    w->known[i] = key(request);
    pthread_mutex_unlock(&w->lock);
}

static int take(struct watch *w, MPI_Request request, int keep)
{
    pthread_mutex_lock(&w->lock);
    long i = find(w, key(request), 0);
    if (i >= 0 && !keep)
        w->used[i] = 2;
    pthread_mutex_unlock(&w->lock);
    return i >= 0;
}

struct batch {
    MPI_Request before[MOST];
    int is_known[MOST];
};

/* What is known of the requests of a call; they are taken out unless `keep`. */
static void begin(struct watch *w, struct batch *batch, int count, const MPI_Request *requests, int keep)
{
    int known = 0, foreign = 0;
    if (count > MOST)
        abort();
    for (int i = 0; i < count; i++) {
        batch->before[i] = requests[i];
        batch->is_known[i] = requests[i] != MPI_REQUEST_NULL && take(w, requests[i], keep);
        known += batch->is_known[i];
        foreign += requests[i] != MPI_REQUEST_NULL && !batch->is_known[i];
    }
    w->unknown += foreign && !known;
    w->mixed += foreign && known;
}

static void end(struct watch *w, struct batch *batch, int count, const MPI_Request *requests)
{
    for (int i = 0; i < count; i++)
        if (batch->is_known[i]) {
            if (requests[i] == MPI_REQUEST_NULL)
                w->completed++;
            else
                add(w, batch->before[i]);
        }
}

static void report(struct watch *w)
{
    /* By the launcher's word: no layer is to see a call for that. */
    const char *ranks[] = { getenv("OMPI_COMM_WORLD_RANK"), getenv("PMI_RANK"), "0" };
    const char *rank = ranks[0] ? ranks[0] : ranks[1] ? ranks[1] : ranks[2];
    static const char *const names[] = {
#define X(f, F) "MPI_" #f,
        FUNCTIONS(X)
#undef X
    };
    char text[4096];
    int length = snprintf(text, sizeof text, "watch %s rank %s:", w->label, rank), left = 0;
    for (int f = 0; f < COUNT; f++)
        if (w->calls[f])
            length += snprintf(text + length, sizeof text - length, " %s=%lld", names[f], (long long)w->calls[f]);
    for (int i = 0; i < SLOTS; i++)
        left += w->used[i] == 1;
    snprintf(text + length, sizeof text - length, " started=%lld completed=%lld unknown=%lld mixed=%lld left=%d duplicate=%lld\n",
             (long long)w->started, (long long)w->completed, (long long)w->unknown, (long long)w->mixed, left,
             (long long)w->duplicate);
    fputs(text, stdout);
    fflush(stdout);
}

#ifdef AS_QMPI
#define DEFINE(f, ...) static int watch_##f(QMPI_Context context, int tool_id, __VA_ARGS__)
#define DEFINE_VOID(f) static int watch_##f(QMPI_Context context, int tool_id)
#define NEXT(f, ...) (((QMPI_##f##_t *)w->next[F_##f].call)(context, w->next[F_##f].tool, __VA_ARGS__))
#define NEXT_VOID(f) (((QMPI_##f##_t *)w->next[F_##f].call)(context, w->next[F_##f].tool))
#define SELF()                                                                                                   \
    struct watch *w;                                                                                             \
    QMPI_Get_tool_storage(context, tool_id, (void **)&w);                                                        \
    look_up(w)

/* Links are asked for once, and kept. */
static void look_up(struct watch *w)
{
    static const int numbers[] = {
#define X(f, F) MPI_##F##_T,
        FUNCTIONS(X)
#undef X
    };
    pthread_mutex_lock(&w->lock);
    if (!w->next[F_Finalize].call)
        for (int f = 0; f < COUNT; f++)
            QMPI_Get_function(w->id, numbers[f], &w->next[f].call, &w->next[f].tool);
    pthread_mutex_unlock(&w->lock);
}
#else
static struct watch self = { .lock = PTHREAD_MUTEX_INITIALIZER };
#define DEFINE(f, ...) int MPI_##f(__VA_ARGS__)
#define DEFINE_VOID(f) int MPI_##f(void)
#define NEXT(f, ...) PMPI_##f(__VA_ARGS__)
#define NEXT_VOID(f) PMPI_##f()
#define SELF()                                                                                                   \
    struct watch *w = &self;                                                                                     \
    if (!w->label)                                                                                               \
    w->label = getenv("WATCH_LABEL")
#endif

DEFINE(Init, int *argc, char ***argv)
{
    SELF();
    w->calls[F_Init]++;
    return NEXT(Init, argc, argv);
}

DEFINE(Init_thread, int *argc, char ***argv, int required, int *provided)
{
    SELF();
    w->calls[F_Init_thread]++;
    return NEXT(Init_thread, argc, argv, required, provided);
}

DEFINE_VOID(Finalize)
{
    SELF();
    w->calls[F_Finalize]++;
    int result = NEXT_VOID(Finalize);
    report(w);
    return result;
}

DEFINE(Barrier, MPI_Comm comm)
{
    SELF();
    w->calls[F_Barrier]++;
    return NEXT(Barrier, comm);
}

DEFINE(Alltoall, const void *out, int n, MPI_Datatype type, void *in, int in_n, MPI_Datatype in_type, MPI_Comm comm)
{
    SELF();
    w->calls[F_Alltoall]++;
    return NEXT(Alltoall, out, n, type, in, in_n, in_type, comm);
}

DEFINE(Comm_rank, MPI_Comm comm, int *rank)
{
    SELF();
    w->calls[F_Comm_rank]++;
    return NEXT(Comm_rank, comm, rank);
}

DEFINE(Comm_dup, MPI_Comm comm, MPI_Comm *new)
{
    SELF();
    w->calls[F_Comm_dup]++;
    return NEXT(Comm_dup, comm, new);
}

DEFINE(Comm_free, MPI_Comm *comm)
{
    SELF();
    w->calls[F_Comm_free]++;
    return NEXT(Comm_free, comm);
}

#define STARTS(f, CONST)                                                                                         \
    DEFINE(f, CONST void *buffer, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,                \
           MPI_Request *request)                                                                                 \
    {                                                                                                            \
        SELF();                                                                                                  \
        w->calls[F_##f]++;                                                                                       \
        int result = NEXT(f, buffer, count, type, rank, tag, comm, request);                                     \
        w->started++;                                                                                            \
        add(w, *request);                                                                                        \
        return result;                                                                                           \
    }
STARTS(Isend, const)
STARTS(Issend, const)
STARTS(Irecv, )
STARTS(Send_init, const)
STARTS(Recv_init, )

#define TAKES(f, count, requests, keep, ...)                                                                     \
    {                                                                                                            \
        SELF();                                                                                                  \
        struct batch batch;                                                                                      \
        w->calls[F_##f]++;                                                                                       \
        begin(w, &batch, count, requests, keep);                                                                 \
        int result = NEXT(f, __VA_ARGS__);                                                                       \
        if (!keep)                                                                                               \
            end(w, &batch, count, requests);                                                                     \
        return result;                                                                                           \
    }
DEFINE(Start, MPI_Request *request) TAKES(Start, 1, request, 1, request)
DEFINE(Startall, int count, MPI_Request requests[]) TAKES(Startall, count, requests, 1, count, requests)
DEFINE(Wait, MPI_Request *request, MPI_Status *status) TAKES(Wait, 1, request, 0, request, status)
DEFINE(Waitall, int count, MPI_Request requests[], MPI_Status *statuses)
TAKES(Waitall, count, requests, 0, count, requests, statuses)
DEFINE(Test, MPI_Request *request, int *flag, MPI_Status *status) TAKES(Test, 1, request, 0, request, flag, status)
DEFINE(Testsome, int count, MPI_Request requests[], int *done, int indices[], MPI_Status *statuses)
TAKES(Testsome, count, requests, 0, count, requests, done, indices, statuses)
DEFINE(Waitany, int count, MPI_Request requests[], int *index, MPI_Status *status)
TAKES(Waitany, count, requests, 0, count, requests, index, status)
DEFINE(Request_free, MPI_Request *request) TAKES(Request_free, 1, request, 0, request)
DEFINE(Request_get_status, MPI_Request request, int *flag, MPI_Status *status)
TAKES(Request_get_status, 1, &request, 1, request, flag, status)

#ifdef AS_QMPI
static void init(int id, const char *label)
{
    struct watch *w = calloc(1, sizeof *w);
    w->label = label;
    w->id = id;
    pthread_mutex_init(&w->lock, NULL);
    QMPI_Register_tool_storage(id, w);
#define R(f, F) QMPI_Register_function(id, MPI_##F##_T, (void (*)(void))watch_##f);
    R(Init, INIT) R(Init_thread, INIT_THREAD) R(Finalize, FINALIZE) R(Barrier, BARRIER) R(Comm_rank, COMM_RANK)
    R(Comm_dup, COMM_DUP) R(Comm_free, COMM_FREE) R(Isend, ISEND) R(Issend, ISSEND) R(Irecv, IRECV) R(Send_init, SEND_INIT)
    R(Recv_init, RECV_INIT) R(Start, START) R(Startall, STARTALL) R(Wait, WAIT) R(Waitall, WAITALL) R(Test, TEST)
    R(Testsome, TESTSOME) R(Waitany, WAITANY) R(Request_free, REQUEST_FREE) R(Request_get_status, REQUEST_GET_STATUS)
    R(Alltoall, ALLTOALL)
}

static void init_outer(int id)
{
    init(id, "outer");
}

static void init_middle(int id)
{
    init(id, "middle");
}

static void init_inner(int id)
{
    init(id, "inner");
}

__attribute__((constructor)) static void load(void)
{
    QMPI_Register_tool_name("outer", init_outer);
    QMPI_Register_tool_name("middle", init_middle);
    QMPI_Register_tool_name("inner", init_inner);
}
#endif

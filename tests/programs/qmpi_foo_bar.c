//# role: companion
//# lang: c
//# mpi: both
//# cflags: -I../bridge/include
//# libs: -ldl
/* qmpi_foo_bar: one library with two QMPI tools, foo under MPICH's names and bar under the draft's. Both count; bar's
 * MPI_Barrier goes to the MPI library past all layers.
 *
 * At the end each instance prints a line, outermost last:
 *
 *     foo 1 of 3, rank 0: init 1, send 6, irecv 0, wait 2, barrier 1, first MPI_Init, callers ok */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <qmpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct instance {
    const char *name;
    int id, place, rank;
    _Atomic int send, irecv, wait, barrier, foreign;
    const char *_Atomic first;
};

static _Atomic int instances;

static struct instance *instance_of(QMPI_Context context, int id, const char *function)
{
    void *storage = NULL, *caller = NULL;
    struct instance *self;
    const char *nothing = NULL;
    Dl_info info;
    if (QMPI_Get_tool_storage(context, id, &storage) || !storage || QMPI_Get_calling_address(context, &caller))
        abort();
    self = storage;
    if (self->id != id)
        abort();
    atomic_compare_exchange_strong(&self->first, &nothing, function);
    const char *file = dladdr(caller, &info) ? info.dli_fname : "", *slash = strrchr(file, '/');
    self->foreign += strcmp(slash ? slash + 1 : file, program_invocation_short_name) != 0;
    return self;
}

#define NEXT(f, F) \
    QMPI_##f##_t *next; \
    int next_id; \
    if (self->name[0] == 'f' ? QMPI_Get_function(id, MPI_##F##_T, (void (**)(void))&next, &next_id) \
                             : MPI_Get_next_tool_function(id, MPI_##F##_T, (void (**)(void))&next, &next_id)) \
        abort();

static int my_Send(QMPI_Context c, int id, const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm comm)
{
    struct instance *self = instance_of(c, id, "MPI_Send");
    NEXT(Send, SEND)
    self->send++;
    return next(c, next_id, b, n, t, to, tag, comm);
}

static int my_Irecv(QMPI_Context c, int id, void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm comm,
                    MPI_Request *r)
{
    struct instance *self = instance_of(c, id, "MPI_Irecv");
    NEXT(Irecv, IRECV)
    self->irecv++;
    return next(c, next_id, b, n, t, from, tag, comm, r);
}

/* Looked up by name. */
static int my_Wait(QMPI_Context c, int id, MPI_Request *r, MPI_Status *s)
{
    struct instance *self = instance_of(c, id, "MPI_Wait");
    QMPI_Wait_t *next;
    int next_id;
    if (QMPIX_Get_function_by_name(id, "MPI_Wait", (void (**)(void))&next, &next_id))
        abort();
    self->wait++;
    return next(c, next_id, r, s);
}

static int my_Barrier(QMPI_Context c, int id, MPI_Comm comm)
{
    struct instance *self = instance_of(c, id, "MPI_Barrier");
    NEXT(Barrier, BARRIER)
    self->barrier++;
    return self->name[0] == 'b' ? QMPI_Barrier(c, id, comm) : next(c, next_id, comm);
}

static int my_Init(QMPI_Context c, int id, int *argc, char ***argv)
{
    struct instance *self = instance_of(c, id, "MPI_Init");
    NEXT(Init, INIT)
    return next(c, next_id, argc, argv);
}

static int my_Init_thread(QMPI_Context c, int id, int *argc, char ***argv, int wanted, int *got)
{
    struct instance *self = instance_of(c, id, "MPI_Init_thread");
    NEXT(Init_thread, INIT_THREAD)
    return next(c, next_id, argc, argv, wanted, got);
}

static int my_Initialized(QMPI_Context c, int id, int *flag)
{
    struct instance *self = instance_of(c, id, "MPI_Initialized");
    NEXT(Initialized, INITIALIZED)
    return next(c, next_id, flag);
}

static void report(struct instance *self)
{
    printf("%s %d of %d, rank %d: init %d, send %d, irecv %d, wait %d, barrier %d, first %s, callers %s\n", self->name,
           self->id, instances, self->rank, self->place, self->send, self->irecv, self->wait, self->barrier, self->first,
           self->foreign ? "wrong" : "ok");
    fflush(stdout);
}

static int my_Finalize(QMPI_Context c, int id)
{
    struct instance *self = instance_of(c, id, "MPI_Finalize");
    NEXT(Finalize, FINALIZE)
    QMPI_Comm_rank(c, id, MPI_COMM_WORLD, &self->rank);
    int result = next(c, next_id);
    report(self);
    return result;
}

#ifdef MPI_SESSION_NULL
static int my_Session_init(QMPI_Context c, int id, MPI_Info info, MPI_Errhandler handler, MPI_Session *session)
{
    struct instance *self = instance_of(c, id, "MPI_Session_init");
    NEXT(Session_init, SESSION_INIT)
    return next(c, next_id, info, handler, session);
}

static int my_Session_finalize(QMPI_Context c, int id, MPI_Session *session)
{
    struct instance *self = instance_of(c, id, "MPI_Session_finalize");
    NEXT(Session_finalize, SESSION_FINALIZE)
    int result = next(c, next_id, session);
    report(self);
    return result;
}
#endif

static struct instance *create(const char *name, int id)
{
    struct instance *self = calloc(1, sizeof *self);
    self->name = name;
    self->id = id;
    self->rank = -1;
    self->place = ++instances;
    return self;
}

#define FUNCTIONS(X) \
    X(Send, SEND) X(Irecv, IRECV) X(Barrier, BARRIER) X(Init, INIT) X(Init_thread, INIT_THREAD) \
    X(Initialized, INITIALIZED) X(Finalize, FINALIZE) SESSIONS(X)
#ifdef MPI_SESSION_NULL
#define SESSIONS(X) X(Session_init, SESSION_INIT) X(Session_finalize, SESSION_FINALIZE)
#else
#define SESSIONS(X)
#endif

static void init_foo(int id)
{
    int bad = QMPI_Register_tool_storage(id, create("foo", id));
#define REGISTER(f, F) bad |= QMPI_Register_function(id, MPI_##F##_T, (void (*)(void))my_##f);
    FUNCTIONS(REGISTER)
    bad |= QMPIX_Register_function_by_name(id, "MPI_Wait", (void (*)(void))my_Wait);
    if (bad)
        abort();
}

static void init_bar(int id)
{
    int bad = MPI_Register_tool_storage(id, create("bar", id));
#undef REGISTER
#define REGISTER(f, F) bad |= MPI_Register_tool_function(id, MPI_##F##_T, (void (*)(void))my_##f);
    FUNCTIONS(REGISTER)
    bad |= MPI_Register_function(id, MPI_WAIT_T, (void (*)(void))my_Wait);
    if (bad)
        abort();
}

__attribute__((constructor)) static void announce(void)
{
    QMPI_Register_tool_name("foo", init_foo);
    MPI_Register_tool_name("bar", init_bar);
}

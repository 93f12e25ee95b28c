//# role: companion
//# lang: c
//# mpi: mpich
//# needs-mpi: no
//# cflags: -Wl,-soname,libmpich.so.12
/* A small MPI that has QMPI itself, in the shape of MPICH configured with --enable-qmpi, and with the handles, names and numbers of
 * Debian's MPICH: what is compiled for that runs on this one, where the directory of `libmpich.so.12` comes first in LD_LIBRARY_PATH.
 * It has one process, and no more functions than tests call; messages to MPI_PROC_NULL go nowhere, and all others are an error.
 *
 * The shape, which matters to what is loaded with it:
 * - `MPI_f` is a weak name of `PMPI_f`. Both enter the chain of tools; without tools they end in a jump to `QMPI_f`.
 * - `QMPI_f` is the function proper. References to it can be preempted, those in calls and those in the table of functions.
 * - The context is null in all calls; but with QMPI_MPI_CONTEXTS=N in the environment in the first N behind MPI_Init only.
 * - Tools are named in MPIR_CVAR_QMPI_TOOL_LIST, separated by colons. A name that nothing has registered is called as a null pointer.
 * - Registration wants a name of the list; storage and functions are written down without a check.
 * - Tools are initialized when a function is called that is allowed before MPI_Init.
 * - QMPI_Get_function knows the tools that have been initialized so far. */
/* Releases of MPICH declare them with different types. */
#define QMPI_Register_function declared_register_function
#define QMPI_Get_function declared_get_function
#include <mpi.h>
#undef QMPI_Register_function
#undef QMPI_Get_function
int QMPI_Register_function(int tool_id, enum QMPI_Functions_enum function, void (*pointer)(void));
int QMPI_Get_function(int tool_id, enum QMPI_Functions_enum function, void (**pointer)(void), int *next_tool_id);
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void (*function_t)(void);
typedef void (*init_t)(int tool_id);

/* What tells an MPI library from a tool that defines PMPI_* as well. */
int *const MPI_UNWEIGHTED = NULL;

static int tool_count;
static char **tool_names;
static init_t *tool_inits;
static void **tool_storage;
static function_t *pointers; /* a row of MPI_LAST_FUNC_T for each tool, the first for MPI itself */
static function_t first_pointers[MPI_LAST_FUNC_T];
static int first_tools[MPI_LAST_FUNC_T];

static int is_initialized, is_finalized;

static void stash_first_tools(void)
{
    for (int f = 0; f < MPI_LAST_FUNC_T; f++) {
        int tool = 1;
        while (tool <= tool_count && !pointers[tool * MPI_LAST_FUNC_T + f])
            tool++;
        if (tool > tool_count)
            tool = 0;
        first_pointers[f] = pointers[tool * MPI_LAST_FUNC_T + f];
        first_tools[f] = tool;
    }
}

/* The context of a call. */
static QMPI_Context new_context(void)
{
    static int calls;
    QMPI_Context context = { NULL };
    const char *first = getenv("QMPI_MPI_CONTEXTS");
    if (is_initialized && first && ++calls > atoi(first))
        context.storage_stack = (void *)&calls;
    return context;
}

static void register_own_functions(void);

/* Reads the list, when it is first asked for. */
static void pre_init(void)
{
    static int is_done;
    const char *list = getenv("MPIR_CVAR_QMPI_TOOL_LIST");
    if (is_done++ || !list)
        return;
    char *text = strdup(list), *rest = NULL;
    for (char *name = strtok_r(text, ":", &rest); name; name = strtok_r(NULL, ":", &rest)) {
        tool_names = realloc(tool_names, (tool_count + 2) * sizeof *tool_names);
        tool_names[++tool_count] = name;
    }
    tool_inits = calloc(tool_count + 1, sizeof *tool_inits);
    tool_storage = calloc(tool_count + 1, sizeof *tool_storage);
    pointers = calloc((size_t)(tool_count + 1) * MPI_LAST_FUNC_T, sizeof *pointers);
    register_own_functions();
    stash_first_tools();
}

static void initialize_tools(void)
{
    static int is_done;
    if (is_done++)
        return;
    pre_init();
    for (int tool = 1; tool <= tool_count; tool++)
        tool_inits[tool](tool);
    if (tool_count)
        stash_first_tools();
}

int QMPI_Register_tool_name(const char *name, void (*init)(int tool_id))
{
    pre_init();
    for (int tool = 1; tool <= tool_count; tool++)
        if (strcmp(tool_names[tool], name) == 0 && !tool_inits[tool])
            tool_inits[tool] = init;
    return MPI_SUCCESS;
}

int QMPI_Register_tool_storage(int tool_id, void *storage)
{
    tool_storage[tool_id] = storage;
    return MPI_SUCCESS;
}

int QMPI_Register_function(int tool_id, enum QMPI_Functions_enum function, void (*pointer)(void))
{
    pointers[tool_id * MPI_LAST_FUNC_T + function] = pointer;
    return MPI_SUCCESS;
}

int QMPI_Get_function(int tool_id, enum QMPI_Functions_enum function, void (**pointer)(void), int *next_tool_id)
{
    int tool = tool_id + 1;
    while (tool <= tool_count && !pointers[tool * MPI_LAST_FUNC_T + function])
        tool++;
    if (tool > tool_count)
        tool = 0;
    *pointer = pointers[tool * MPI_LAST_FUNC_T + function];
    *next_tool_id = tool;
    return MPI_SUCCESS;
}

int QMPI_Get_tool_storage(QMPI_Context context, int tool_id, void **storage)
{
    *storage = tool_storage[tool_id];
    return MPI_SUCCESS;
}

int QMPI_Get_calling_address(QMPI_Context context, void **address)
{
    *address = NULL;
    return MPI_SUCCESS;
}

/* What a message to or from `rank` comes to. */
static int to_nowhere(int rank)
{
    return rank == MPI_PROC_NULL ? MPI_SUCCESS : MPI_ERR_RANK;
}

/* Handles of MPICH's basic types have the size in them. */
static int size_of(MPI_Datatype type)
{
    return (type & 0xff00) >> 8;
}

/* All of one process is that process's part. */
static int copy(const void *from, void *to, int count, MPI_Datatype type)
{
    if (from != MPI_IN_PLACE && from != to)
        memcpy(to, from, (size_t)count * size_of(type));
    return MPI_SUCCESS;
}

static int start(void)
{
    is_initialized = 1;
    return MPI_SUCCESS;
}

static int start_with_threads(int required, int *provided)
{
    *provided = required;
    return start();
}

static int end(void)
{
    is_finalized = 1;
    return MPI_SUCCESS;
}

static int store(int *place, int value)
{
    *place = value;
    return MPI_SUCCESS;
}

static int version(char *text, int *length)
{
    return store(length, sprintf(text, "MPICH Version:\t" MPICH_VERSION "\n"));
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

#define NOTHING
#define TOOLS initialize_tools();
#define ARGS(...) , __VA_ARGS__
#define NO_ARGS

/* X(type, before, f, F, (parameters), parameters behind others, arguments behind others, what it does) */
#define FUNCTIONS(X)                                                                                                       \
    X(int, TOOLS, Init, INIT, (int *argc, char ***argv), ARGS(int *argc, char ***argv), ARGS(argc, argv), start())         \
    X(int, TOOLS, Init_thread, INIT_THREAD, (int *argc, char ***argv, int required, int *provided),                        \
      ARGS(int *argc, char ***argv, int required, int *provided), ARGS(argc, argv, required, provided),                    \
      start_with_threads(required, provided))                                                                              \
    X(int, NOTHING, Finalize, FINALIZE, (void), NO_ARGS, NO_ARGS, end())                                                   \
    X(int, TOOLS, Initialized, INITIALIZED, (int *flag), ARGS(int *flag), ARGS(flag), store(flag, is_initialized))       \
    X(int, TOOLS, Finalized, FINALIZED, (int *flag), ARGS(int *flag), ARGS(flag), store(flag, is_finalized))             \
    X(int, NOTHING, Abort, ABORT, (MPI_Comm comm, int code), ARGS(MPI_Comm comm, int code), ARGS(comm, code),              \
      (exit(code), MPI_SUCCESS))                                                                                           \
    X(int, TOOLS, Get_library_version, GET_LIBRARY_VERSION, (char *text, int *length),                                   \
      ARGS(char *text, int *length), ARGS(text, length), version(text, length))                                            \
    X(int, NOTHING, Comm_rank, COMM_RANK, (MPI_Comm comm, int *rank), ARGS(MPI_Comm comm, int *rank), ARGS(comm, rank),    \
      store(rank, 0))                                                                                                      \
    X(int, NOTHING, Comm_size, COMM_SIZE, (MPI_Comm comm, int *size), ARGS(MPI_Comm comm, int *size), ARGS(comm, size),    \
      store(size, 1))                                                                                                      \
    X(int, NOTHING, Type_size, TYPE_SIZE, (MPI_Datatype type, int *size), ARGS(MPI_Datatype type, int *size),              \
      ARGS(type, size), store(size, size_of(type)))                                                                        \
    X(int, NOTHING, Send, SEND, (const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm),         \
      ARGS(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm),                               \
      ARGS(buf, count, type, dest, tag, comm), to_nowhere(dest))                                                           \
    X(int, NOTHING, Recv, RECV,                                                                                            \
      (void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status),                   \
      ARGS(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status),               \
      ARGS(buf, count, type, source, tag, comm, status), to_nowhere(source))                                               \
    X(int, NOTHING, Sendrecv, SENDRECV,                                                                                    \
      (const void *buf, int count, MPI_Datatype type, int dest, int tag, void *rbuf, int rcount, MPI_Datatype rtype,       \
       int source, int rtag, MPI_Comm comm, MPI_Status *status),                                                           \
      ARGS(const void *buf, int count, MPI_Datatype type, int dest, int tag, void *rbuf, int rcount, MPI_Datatype rtype,   \
           int source, int rtag, MPI_Comm comm, MPI_Status *status),                                                       \
      ARGS(buf, count, type, dest, tag, rbuf, rcount, rtype, source, rtag, comm, status),                                  \
      to_nowhere(dest == MPI_PROC_NULL ? source : dest))                                                                   \
    X(int, NOTHING, Probe, PROBE, (int source, int tag, MPI_Comm comm, MPI_Status *status),                                \
      ARGS(int source, int tag, MPI_Comm comm, MPI_Status *status), ARGS(source, tag, comm, status), to_nowhere(source))   \
    X(int, NOTHING, Barrier, BARRIER, (MPI_Comm comm), ARGS(MPI_Comm comm), ARGS(comm), MPI_SUCCESS)                       \
    X(int, NOTHING, Bcast, BCAST, (void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm),                      \
      ARGS(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm), ARGS(buf, count, type, root, comm),          \
      MPI_SUCCESS)                                                                                                         \
    X(int, NOTHING, Reduce, REDUCE,                                                                                        \
      (const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),                      \
      ARGS(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),                  \
      ARGS(from, to, count, type, op, root, comm), copy(from, to, count, type))                                            \
    X(int, NOTHING, Allreduce, ALLREDUCE,                                                                                  \
      (const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),                                \
      ARGS(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),                            \
      ARGS(from, to, count, type, op, comm), copy(from, to, count, type))                                                  \
    X(double, NOTHING, Wtime, WTIME, (void), NO_ARGS, NO_ARGS, seconds())

#define DEFINE(type, before, f, F, parameters, more_parameters, arguments, result)                   \
    type QMPI_##f(QMPI_Context context, int tool_id more_parameters)                                  \
    {                                                                                                 \
        return result;                                                                                \
    }                                                                                                 \
    type PMPI_##f parameters                                                                          \
    {                                                                                                 \
        before if (tool_count == 0) return QMPI_##f((QMPI_Context){ NULL }, 0 arguments);             \
        QMPI_Context context = new_context();                                                         \
        return ((QMPI_##f##_t *)first_pointers[MPI_##F##_T])(context, first_tools[MPI_##F##_T] arguments); \
    }                                                                                                 \
    type MPI_##f parameters __attribute__((weak, alias("PMPI_" #f)));
FUNCTIONS(DEFINE)

/* What comes behind the level is on its way as a va_list, as in MPICH. */
int QMPI_Pcontrol(QMPI_Context context, int tool_id, const int level, ...)
{
    return MPI_SUCCESS;
}

int PMPI_Pcontrol(const int level, ...)
{
    va_list more;
    va_start(more, level);
    if (tool_count == 0)
        return QMPI_Pcontrol((QMPI_Context){ NULL }, 0, level, more);
    QMPI_Context context = new_context();
    return ((QMPI_Pcontrol_t *)first_pointers[MPI_PCONTROL_T])(context, first_tools[MPI_PCONTROL_T], level, more);
}
int MPI_Pcontrol(const int level, ...) __attribute__((weak, alias("PMPI_Pcontrol")));

static void register_own_functions(void)
{
#define ENTER(type, before, f, F, ...) pointers[MPI_##F##_T] = (function_t)QMPI_##f;
    FUNCTIONS(ENTER)
    pointers[MPI_PCONTROL_T] = (function_t)QMPI_Pcontrol;
}

/* A QMPI tool that does nothing, or as little as can be.
 *
 *     (nothing)    knows what comes next from a table by tool id: no call into the runtime
 *     -DLOOKUP     asks QMPI_Get_function in every call
 *     -DADDRESS    asks QMPI_Get_calling_address in every call
 *     -DSINK       does not call on: what is measured is the way to it
 *     -DIMPORTS    refers to QMPI_Get_calling_address, so that the runtime keeps the address, but does not call it */
#include <mpi.h>
#include <qmpi.h>

enum { COMM_RANK, PROBE, BCAST, RECV, SENDRECV, FUNCTIONS, TOOLS = 1024 };

static const int numbers[FUNCTIONS] = { MPI_COMM_RANK_T, MPI_PROBE_T, MPI_BCAST_T, MPI_RECV_T, MPI_SENDRECV_T };

/* By function first: what a call reads of a thousand instances lies together. */
static struct next {
    void (*function)(void);
    int tool_id;
} table[FUNCTIONS][TOOLS];

static void *volatile caller;
static int (*volatile address_of_call)(QMPI_Context context, void **address);

static struct next ask(int tool_id, int place)
{
    struct next next;
    QMPI_Get_function(tool_id, numbers[place], &next.function, &next.tool_id);
    return next;
}

static inline void say_caller(QMPI_Context context)
{
#ifdef ADDRESS
    void *address;
    QMPI_Get_calling_address(context, &address);
    caller = address;
#else
    (void)context;
#endif
}

#define PLAIN(...) __VA_ARGS__
#define HEAD(name, parameters) static int name(QMPI_Context context, int tool_id, PLAIN parameters)

#if defined SINK
#define WRAPPER(f, place, parameters, ...) \
    HEAD(tool_##f, parameters)             \
    {                                      \
        return MPI_SUCCESS;                \
    }
#elif defined LOOKUP
#define WRAPPER(f, place, parameters, ...)                                          \
    HEAD(tool_##f, parameters)                                                      \
    {                                                                               \
        struct next next = ask(tool_id, place);                                     \
        return ((QMPI_##f##_t *)next.function)(context, next.tool_id, __VA_ARGS__); \
    }
#else
/* The first call goes through a function of its own: a call in the wrapper would make it save registers every time. */
#define WRAPPER(f, place, parameters, ...)                                            \
    HEAD(first_##f, parameters);                                                      \
    HEAD(tool_##f, parameters)                                                        \
    {                                                                                 \
        const struct next *next = &table[place][tool_id];                             \
        if (__builtin_expect(!next->function, 0))                                     \
            return first_##f(context, tool_id, __VA_ARGS__);                          \
        say_caller(context);                                                          \
        return ((QMPI_##f##_t *)next->function)(context, next->tool_id, __VA_ARGS__); \
    }                                                                                 \
    __attribute__((noinline, cold)) HEAD(first_##f, parameters)                       \
    {                                                                                 \
        table[place][tool_id] = ask(tool_id, place);                                  \
        return tool_##f(context, tool_id, __VA_ARGS__);                               \
    }
#endif

WRAPPER(Comm_rank, COMM_RANK, (MPI_Comm comm, int *rank), comm, rank)
WRAPPER(Probe, PROBE, (int source, int tag, MPI_Comm comm, MPI_Status *status), source, tag, comm, status)
WRAPPER(Bcast, BCAST, (void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm), buffer, count,
        datatype, root, comm)
WRAPPER(Recv, RECV, (void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                     MPI_Status *status), buf, count, datatype, source, tag, comm, status)
WRAPPER(Sendrecv, SENDRECV, (const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                             void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                             MPI_Comm comm, MPI_Status *status),
        sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, status)

static void initialize(int tool_id)
{
    static void (*const wrappers[FUNCTIONS])(void) = {
        (void (*)(void))tool_Comm_rank, (void (*)(void))tool_Probe, (void (*)(void))tool_Bcast,
        (void (*)(void))tool_Recv, (void (*)(void))tool_Sendrecv,
    };
    for (int place = 0; place < FUNCTIONS && tool_id < TOOLS; place++)
        QMPI_Register_function(tool_id, numbers[place], wrappers[place]);
#ifdef IMPORTS
    address_of_call = QMPI_Get_calling_address;
#endif
}

__attribute__((constructor)) static void announce(void)
{
    /* No two of the libraries made from this file may have the same name. */
    QMPI_Register_tool_name(NAME, initialize);
    (void)ask, (void)say_caller, (void)table, (void)caller, (void)address_of_call;
}

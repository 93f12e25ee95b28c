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

static struct next {
    void (*function)(void);
    int tool_id;
} table[TOOLS][FUNCTIONS];

static void *volatile caller;
static int (*volatile address_of_call)(QMPI_Context context, void **address);

static void ask(int tool_id)
{
    for (int place = 0; place < FUNCTIONS; place++)
        QMPI_Get_function(tool_id, numbers[place], &table[tool_id][place].function, &table[tool_id][place].tool_id);
}

static inline struct next next_of(QMPI_Context context, int tool_id, int place)
{
#ifdef ADDRESS
    void *address;
    QMPI_Get_calling_address(context, &address);
    caller = address;
#else
    (void)context;
#endif
#ifdef LOOKUP
    struct next next;
    QMPI_Get_function(tool_id, numbers[place], &next.function, &next.tool_id);
    return next;
#else
    if (__builtin_expect(!table[tool_id][place].function, 0))
        ask(tool_id);
    return table[tool_id][place];
#endif
}

#define PLAIN(...) __VA_ARGS__

#ifdef SINK
#define WRAPPER(f, place, parameters, ...)                                     \
    static int tool_##f(QMPI_Context context, int tool_id, PLAIN parameters)   \
    {                                                                          \
        return MPI_SUCCESS;                                                    \
    }
#else
#define WRAPPER(f, place, parameters, ...)                                     \
    static int tool_##f(QMPI_Context context, int tool_id, PLAIN parameters)   \
    {                                                                          \
        struct next next = next_of(context, tool_id, place);                   \
        return ((QMPI_##f##_t *)next.function)(context, next.tool_id, __VA_ARGS__); \
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
    (void)ask, (void)next_of, (void)caller, (void)address_of_call;
}

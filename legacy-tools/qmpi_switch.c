//# kind: qmpi
//# lang: c
//# mpi: both
/* switch: a QMPI tool that sends calls on some communicators through one stack of tools and all others through another.
 *
 * The interface knows chains only. This tool makes a diamond of two of them, with function tables (qmpix.h) and two named
 * stacks of the configuration file:
 *
 *     stack = ["switch"]
 *     [stacks]
 *     rows = ["counter_of_rows"]       # calls on communicators that the program names "rows" (MPI_Comm_set_name)
 *     others = ["counter_of_others"]   # all other calls
 *
 *                      / rows:   counter_of_rows   \
 *     program - switch                               MPI library (or the next layer of the main stack)
 *                      \ others: counter_of_others /
 *
 * MPI_Init and MPI_Finalize concern both, and MPI wants them once: the stack of the others is built first, and what is
 * below the stack of the rows is, for these functions, the top of the others.
 *
 * Build: mpicc -shared -fPIC -I bridge/include qmpi_switch.c -o qmpi_switch.so */
#include "qmpix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*function)(void);

/* A function and the id that goes with it. */
struct next {
    function call;
    int tool;
};

/* The switched functions, with the place of the communicator among their arguments. */
enum { SEND, RECV, BCAST, BARRIER, REDUCE, ALLREDUCE, SWITCHED };
static const int enumerators[SWITCHED] = { MPI_SEND_T,    MPI_RECV_T,   MPI_BCAST_T,
                                           MPI_BARRIER_T, MPI_REDUCE_T, MPI_ALLREDUCE_T };

enum { OTHERS, ROWS, WAYS };
static const char *const stacks[WAYS] = { "others", "rows" };

#define MOST_ROWS 16
static struct next ways[WAYS][SWITCHED], init_next, init_thread_next, finalize_next, set_name_next;
static MPI_Comm rows[MOST_ROWS];
static int row_count;

static int way_of(MPI_Comm comm)
{
    for (int i = 0; i < row_count; i++)
        if (rows[i] == comm)
            return ROWS;
    return OTHERS;
}

static void must(int error, const char *what)
{
    if (error != MPI_SUCCESS) {
        fprintf(stderr, "switch: %s failed with error class %d\n", what, error);
        abort();
    }
}

static void look_up(QMPIX_Table table, int enumerator, struct next *next)
{
    must(QMPIX_Table_query(table, enumerator, &next->call, &next->tool), "QMPIX_Table_query");
}

static void hand_over(QMPIX_Table from, QMPIX_Table to, int enumerator)
{
    struct next next;
    look_up(from, enumerator, &next);
    must(QMPIX_Table_set(to, enumerator, next.call, next.tool), "QMPIX_Table_set");
}

/* At the first call of the program: loads both stacks and keeps the functions on top of them. */
static void open_stacks(int tool)
{
    QMPIX_Table next, below_rows, top[WAYS];
    must(QMPIX_Table_next(tool, &next), "QMPIX_Table_next");
    must(QMPIX_Stack_open(stacks[OTHERS], next, &top[OTHERS]), "QMPIX_Stack_open");
    must(QMPIX_Table_copy(next, &below_rows), "QMPIX_Table_copy");
    hand_over(top[OTHERS], below_rows, MPI_INIT_T);
    hand_over(top[OTHERS], below_rows, MPI_INIT_THREAD_T);
    hand_over(top[OTHERS], below_rows, MPI_FINALIZE_T);
    must(QMPIX_Stack_open(stacks[ROWS], below_rows, &top[ROWS]), "QMPIX_Stack_open");
    for (int way = 0; way < WAYS; way++)
        for (int i = 0; i < SWITCHED; i++)
            look_up(top[way], enumerators[i], &ways[way][i]);
    look_up(top[ROWS], MPI_INIT_T, &init_next);
    look_up(top[ROWS], MPI_INIT_THREAD_T, &init_thread_next);
    look_up(top[ROWS], MPI_FINALIZE_T, &finalize_next);
    look_up(top[OTHERS], MPI_COMM_SET_NAME_T, &set_name_next);
    QMPIX_Table_destroy(&next);
    QMPIX_Table_destroy(&below_rows);
    for (int way = 0; way < WAYS; way++)
        QMPIX_Table_destroy(&top[way]);
}

static int switch_Init(QMPI_Context context, int tool, int *argc, char ***argv)
{
    open_stacks(tool);
    return ((QMPI_Init_t *)init_next.call)(context, init_next.tool, argc, argv);
}

static int switch_Init_thread(QMPI_Context context, int tool, int *argc, char ***argv, int required, int *provided)
{
    open_stacks(tool);
    return ((QMPI_Init_thread_t *)init_thread_next.call)(context, init_thread_next.tool, argc, argv, required, provided);
}

static int switch_Finalize(QMPI_Context context, int tool)
{
    (void)tool;
    return ((QMPI_Finalize_t *)finalize_next.call)(context, finalize_next.tool);
}

static int switch_Comm_set_name(QMPI_Context context, int tool, MPI_Comm comm, const char *name)
{
    (void)tool;
    if (strcmp(name, stacks[ROWS]) == 0 && row_count < MOST_ROWS)
        rows[row_count++] = comm;
    return ((QMPI_Comm_set_name_t *)set_name_next.call)(context, set_name_next.tool, comm, name);
}

/* One switched function: looks at the communicator and goes on. */
#define GO_ON(which, type, comm, ...)                                                                                        \
    const struct next *next = &ways[way_of(comm)][which];                                                                    \
    (void)tool;                                                                                                              \
    return ((type *)next->call)(context, next->tool, __VA_ARGS__)

static int switch_Send(QMPI_Context context, int tool, const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm comm)
{
    GO_ON(SEND, QMPI_Send_t, comm, b, n, t, to, tag, comm);
}

static int switch_Recv(QMPI_Context context, int tool, void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm comm,
                       MPI_Status *s)
{
    GO_ON(RECV, QMPI_Recv_t, comm, b, n, t, from, tag, comm, s);
}

static int switch_Bcast(QMPI_Context context, int tool, void *b, int n, MPI_Datatype t, int root, MPI_Comm comm)
{
    GO_ON(BCAST, QMPI_Bcast_t, comm, b, n, t, root, comm);
}

static int switch_Barrier(QMPI_Context context, int tool, MPI_Comm comm)
{
    GO_ON(BARRIER, QMPI_Barrier_t, comm, comm);
}

static int switch_Reduce(QMPI_Context context, int tool, const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, int root,
                         MPI_Comm comm)
{
    GO_ON(REDUCE, QMPI_Reduce_t, comm, s, r, n, t, op, root, comm);
}

static int switch_Allreduce(QMPI_Context context, int tool, const void *s, void *r, int n, MPI_Datatype t, MPI_Op op,
                            MPI_Comm comm)
{
    GO_ON(ALLREDUCE, QMPI_Allreduce_t, comm, s, r, n, t, op, comm);
}

static void initialize(int tool)
{
    static const struct {
        int enumerator;
        function wrapper;
    } wrappers[] = {
        { MPI_INIT_T, (function)switch_Init },         { MPI_INIT_THREAD_T, (function)switch_Init_thread },
        { MPI_FINALIZE_T, (function)switch_Finalize }, { MPI_COMM_SET_NAME_T, (function)switch_Comm_set_name },
        { MPI_SEND_T, (function)switch_Send },         { MPI_RECV_T, (function)switch_Recv },
        { MPI_BCAST_T, (function)switch_Bcast },       { MPI_BARRIER_T, (function)switch_Barrier },
        { MPI_REDUCE_T, (function)switch_Reduce },     { MPI_ALLREDUCE_T, (function)switch_Allreduce },
    };
    for (size_t i = 0; i < sizeof wrappers / sizeof wrappers[0]; i++)
        must(QMPI_Register_function(tool, wrappers[i].enumerator, wrappers[i].wrapper), "QMPI_Register_function");
    QMPIX_Register_tool_info(tool, "1", "sends calls of communicators named rows another way");
}

__attribute__((constructor)) static void register_name(void)
{
    QMPI_Register_tool_name("switch", initialize);
}

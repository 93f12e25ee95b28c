/* count_sends: a QMPI tool that says how many messages each rank has sent. It builds against any mpi.h with qmpi.h beside it, and
 * runs wherever there is QMPI: under `qmpi run`, or in an MPI that has it. */
#include <mpi.h>
#include <qmpi.h>
#include <stdio.h>
#include <stdlib.h>

struct counter {
    long sends;
};

/* What comes next in the stack, and its id. */
struct link {
    void (*call)(void);
    int tool;
};

static struct link next_of(int tool, int function)
{
    struct link next;
    QMPI_Get_function(tool, function, &next.call, &next.tool);
    return next;
}

static struct counter *storage_of(QMPI_Context context, int tool)
{
    void *storage = NULL;
    QMPI_Get_tool_storage(context, tool, &storage);
    return storage;
}

static int count_Send(QMPI_Context context, int tool, const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    struct link next = next_of(tool, MPI_SEND_T);
    storage_of(context, tool)->sends++;
    return ((QMPI_Send_t *)next.call)(context, next.tool, buffer, count, type, to, tag, comm);
}

static int count_Finalize(QMPI_Context context, int tool)
{
    int rank;
    struct link next = next_of(tool, MPI_COMM_RANK_T);
    ((QMPI_Comm_rank_t *)next.call)(context, next.tool, MPI_COMM_WORLD, &rank);
    printf("rank %d: %ld messages\n", rank, storage_of(context, tool)->sends);
    next = next_of(tool, MPI_FINALIZE_T);
    return ((QMPI_Finalize_t *)next.call)(context, next.tool);
}

static void start(int tool)
{
    QMPI_Register_tool_storage(tool, calloc(1, sizeof(struct counter)));
    QMPI_Register_function(tool, MPI_SEND_T, (void (*)(void))count_Send);
    QMPI_Register_function(tool, MPI_FINALIZE_T, (void (*)(void))count_Finalize);
}

__attribute__((constructor)) static void register_name(void)
{
    QMPI_Register_tool_name("count_sends", start);
}

//# role: companion
//# lang: c
//# mpi: mpich
//# needs-mpi: no
/* A QMPI tool of MPICH's own header that knows what comes next from the first call on; each instance adds one to the size of a communicator
 * and passes calls of MPI_Send on, and rank 0's last instance says at the end how many contexts it saw that were null, and others. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOOLS = 2048 };
static struct next {
    void (*function)(void);
    int id;
} size_next[TOOLS], send_next[TOOLS];
static int null_contexts, other_contexts, last;

static struct next *ask(struct next *table, int tool, int number)
{
    struct next *next = &table[tool];
    if (!next->function && QMPI_Get_function(tool, number, &next->function, &next->id))
        abort();
    return next;
}

static int adds_Comm_size(QMPI_Context context, int tool, MPI_Comm comm, int *size)
{
    struct next *next = ask(size_next, tool, MPI_COMM_SIZE_T);
    int result = ((QMPI_Comm_size_t *)next->function)(context, next->id, comm, size);
    ++*size;
    return result;
}

static int adds_Send(QMPI_Context context, int tool, const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    struct next *next = ask(send_next, tool, MPI_SEND_T);
    *(context.storage_stack ? &other_contexts : &null_contexts) += 1;
    return ((QMPI_Send_t *)next->function)(context, next->id, b, n, t, to, tag, c);
}

static int adds_Finalize(QMPI_Context context, int tool)
{
    void (*function)(void);
    int id;
    if (tool == last)
        printf("native_adds: %d null contexts, %d others\n", null_contexts, other_contexts);
    QMPI_Get_function(tool, MPI_FINALIZE_T, &function, &id);
    return ((QMPI_Finalize_t *)function)(context, id);
}

static void initialize(int tool)
{
    if (tool >= TOOLS)
        abort();
    last = tool;
    QMPI_Register_tool_storage(tool, NULL);
    QMPI_Register_function(tool, MPI_COMM_SIZE_T, (void (*)(void))adds_Comm_size);
    QMPI_Register_function(tool, MPI_SEND_T, (void (*)(void))adds_Send);
    QMPI_Register_function(tool, MPI_FINALIZE_T, (void (*)(void))adds_Finalize);
}

__attribute__((constructor)) static void announce(void)
{
    QMPI_Register_tool_name("native", initialize);
}

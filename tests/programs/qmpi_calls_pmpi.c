//# role: companion
//# lang: c
//# mpi: both
//# cflags: -I../bridge/include
/* qmpi_calls_pmpi: a QMPI tool whose MPI_Send calls PMPI_Send itself before it goes on: that call goes past all layers, its own
 * function included, whatever the program's calls of PMPI_Send do. At the end each instance prints how many calls it saw. */
#include <mpi.h>
#include <qmpi.h>
#include <stdio.h>
#include <stdlib.h>

static int my_Send(QMPI_Context context, int id, const void *buffer, int count, MPI_Datatype type, int to, int tag,
                   MPI_Comm comm)
{
    QMPI_Send_t *next;
    void *storage;
    int next_id;
    QMPI_Get_tool_storage(context, id, &storage);
    ++*(int *)storage;
    PMPI_Send(buffer, count, type, MPI_PROC_NULL, tag, comm);
    QMPI_Get_function(id, MPI_SEND_T, (void (**)(void))&next, &next_id);
    return next(context, next_id, buffer, count, type, to, tag, comm);
}

static int my_Finalize(QMPI_Context context, int id)
{
    QMPI_Finalize_t *next;
    void *storage;
    int next_id;
    QMPI_Get_tool_storage(context, id, &storage);
    printf("calls_pmpi %d: %d sends\n", id, *(int *)storage);
    fflush(stdout);
    QMPI_Get_function(id, MPI_FINALIZE_T, (void (**)(void))&next, &next_id);
    return next(context, next_id);
}

static void init(int id)
{
    QMPI_Register_tool_storage(id, calloc(1, sizeof(int)));
    QMPI_Register_function(id, MPI_SEND_T, (void (*)(void))my_Send);
    QMPI_Register_function(id, MPI_FINALIZE_T, (void (*)(void))my_Finalize);
}

__attribute__((constructor)) static void announce(void)
{
    QMPI_Register_tool_name("calls_pmpi", init);
}

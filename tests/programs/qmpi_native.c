//# role: companion
//# lang: c
//# mpi: mpich
/* qmpi_native: a QMPI tool that knows nothing of qmpi.h: MPICH's own mpi.h has declarations and numbers of QMPI, other
 * numbers in each release. Rank 0 says `native 1: send 6, wait 2, time ok`. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

struct instance {
    int id, send, wait, time;
};

#define NEXT(type, F) \
    struct instance *self; \
    type *next; \
    int next_id; \
    if (QMPI_Get_tool_storage(context, id, (void **)&self) || self->id != id \
        || QMPI_Get_function(id, MPI_##F##_T, (void (**)(void))&next, &next_id)) \
        abort();

static int native_Send(QMPI_Context context, int id, const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    NEXT(QMPI_Send_t, SEND)
    self->send++;
    return next(context, next_id, b, n, t, to, tag, c);
}

static int native_Wait(QMPI_Context context, int id, MPI_Request *r, MPI_Status *s)
{
    NEXT(QMPI_Wait_t, WAIT)
    self->wait++;
    return next(context, next_id, r, s);
}

static double native_Wtime(QMPI_Context context, int id)
{
    NEXT(QMPI_Wtime_t, WTIME)
    double time = next(context, next_id);
    self->time += time > 0;
    return time;
}

static int native_Finalize(QMPI_Context context, int id)
{
    NEXT(QMPI_Finalize_t, FINALIZE)
    int rank = -1;
    QMPI_Comm_rank(context, id, MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("native %d: send %d, wait %d, time %s\n", id, self->send, self->wait, self->time ? "ok" : "missing");
    return next(context, next_id);
}

static void init(int id)
{
    struct instance *self = calloc(1, sizeof *self);
    self->id = id;
    if (QMPI_Register_tool_storage(id, self) || QMPI_Register_function(id, MPI_SEND_T, (void (*)(void))native_Send)
        || QMPI_Register_function(id, MPI_WAIT_T, (void (*)(void))native_Wait)
        || QMPI_Register_function(id, MPI_WTIME_T, (void (*)(void))native_Wtime)
        || QMPI_Register_function(id, MPI_FINALIZE_T, (void (*)(void))native_Finalize))
        abort();
}

__attribute__((constructor)) static void announce(void)
{
    if (QMPI_Register_tool_name("native", init))
        abort();
}

//# role: companion
//# kind: qmpi
//# lang: c
//# mpi: both
/* A QMPI tool that intercepts the functions that guard_page.c calls, and says how many calls it saw. */
#include <mpi.h>
#include <qmpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One for all instances: what is counted is compared with a multiple. */
static int calls, wrong;

#define NEXT(f, F)          \
    QMPI_##f##_t *next;     \
    int next_id;            \
    calls++;                \
    QMPI_Get_function(id, MPI_##F##_T, (void (**)(void))&next, &next_id);

static int my_Pcontrol(QMPI_Context c, int id, const int level, ...)
{
    va_list args;
    NEXT(Pcontrol, PCONTROL)
    va_start(args, level);
    if (level == 2) {
        const char *text = va_arg(args, const char *);
        double number = va_arg(args, double);
        long last = va_arg(args, long);
        va_end(args);
        wrong += strcmp(text, "text") != 0 || number != 2.5 || last != 17;
        return next(c, next_id, level, text, number, last);
    }
    if (level == 3) {
        long words[7];
        for (int i = 0; i < 7; i++) {
            words[i] = va_arg(args, long);
            wrong += words[i] != i + 1;
        }
        va_end(args);
        return next(c, next_id, level, words[0], words[1], words[2], words[3], words[4], words[5], words[6]);
    }
    va_end(args);
    return next(c, next_id, level);
}

static int my_Barrier(QMPI_Context c, int id, MPI_Comm comm)
{
    NEXT(Barrier, BARRIER)
    return next(c, next_id, comm);
}

static int my_Allreduce(QMPI_Context c, int id, const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm)
{
    NEXT(Allreduce, ALLREDUCE)
    return next(c, next_id, b, rb, n, t, op, comm);
}

static int my_Sendrecv(QMPI_Context c, int id, const void *b, int n, MPI_Datatype t, int to, int tag, void *rb, int rn,
                       MPI_Datatype rt, int from, int rtag, MPI_Comm comm, MPI_Status *s)
{
    NEXT(Sendrecv, SENDRECV)
    return next(c, next_id, b, n, t, to, tag, rb, rn, rt, from, rtag, comm, s);
}

static int my_Dist_graph_create_adjacent(QMPI_Context c, int id, MPI_Comm comm, int in, const int sources[],
                                         const int in_weights[], int out, const int to[], const int out_weights[],
                                         MPI_Info info, int reorder, MPI_Comm *graph)
{
    NEXT(Dist_graph_create_adjacent, DIST_GRAPH_CREATE_ADJACENT)
    return next(c, next_id, comm, in, sources, in_weights, out, to, out_weights, info, reorder, graph);
}

static int my_Ialltoallw(QMPI_Context c, int id, const void *b, const int n[], const int d[], const MPI_Datatype t[], void *rb,
                         const int rn[], const int rd[], const MPI_Datatype rt[], MPI_Comm comm, MPI_Request *r)
{
    NEXT(Ialltoallw, IALLTOALLW)
    return next(c, next_id, b, n, d, t, rb, rn, rd, rt, comm, r);
}

static int my_Alltoallw(QMPI_Context c, int id, const void *b, const int n[], const int d[], const MPI_Datatype t[], void *rb,
                        const int rn[], const int rd[], const MPI_Datatype rt[], MPI_Comm comm)
{
    NEXT(Alltoallw, ALLTOALLW)
    return next(c, next_id, b, n, d, t, rb, rn, rd, rt, comm);
}

static int my_Finalize(QMPI_Context c, int id)
{
    QMPI_Finalize_t *next;
    int next_id;
    QMPI_Get_function(id, MPI_FINALIZE_T, (void (**)(void))&next, &next_id);
    printf("tool guard_page_qmpi: calls=%d wrong=%d\n", calls, wrong);
    fflush(stdout);
    return next(c, next_id);
}

static void initialize(int id)
{
    QMPI_Register_tool_storage(id, calloc(1, 8));
#define REGISTER(f, F) QMPI_Register_function(id, MPI_##F##_T, (void (*)(void))my_##f);
    REGISTER(Pcontrol, PCONTROL)
    REGISTER(Barrier, BARRIER)
    REGISTER(Allreduce, ALLREDUCE)
    REGISTER(Sendrecv, SENDRECV)
    REGISTER(Dist_graph_create_adjacent, DIST_GRAPH_CREATE_ADJACENT)
    REGISTER(Ialltoallw, IALLTOALLW)
    REGISTER(Alltoallw, ALLTOALLW)
    REGISTER(Finalize, FINALIZE)
}

__attribute__((constructor)) static void announce(void)
{
    QMPI_Register_tool_name("guard_page", initialize);
}

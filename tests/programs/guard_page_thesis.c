//# role: companion
//# kind: thesis
//# lang: c
//# mpi: both
/* A tool of the 2018 prototype that intercepts the functions that guard_page.c calls, and says how many calls it saw. */
#include <mpi.h>
#include <stdio.h>

#include "qmpi_thesis.h"

#define FUNCTIONS(X) X(Pcontrol) X(Barrier) X(Allreduce) X(Sendrecv) X(Dist_graph_create_adjacent) X(Ialltoallw) X(Alltoallw) X(Finalize)

static int calls;

char *get_interceptions(int number)
{
#define AS_CASE(f) case _MPI_##f: return "guarded_" #f;
    switch (number) {
    FUNCTIONS(AS_CASE)
    default: return "NULL";
    }
}

#define WRAP(f, ...)                                                     \
    {                                                                    \
        void *next = NULL;                                               \
        calls++;                                                         \
        QMPI_TABLE_QUERY(_MPI_##f, &next, (*VECTOR_GET(v, i)).table);    \
        return EXEC_FUNC(next, i, _MPI_##f, v, __VA_ARGS__);             \
    }

/* The runtime tells every tool of MPI_Pcontrol. */
int guarded_Pcontrol(const int level, int i, vector *v)
{
    (void)level, (void)i, (void)v;
    calls++;
    return MPI_SUCCESS;
}

int guarded_Barrier(MPI_Comm c, int i, vector *v) WRAP(Barrier, c)
int guarded_Allreduce(const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c, int i, vector *v)
    WRAP(Allreduce, b, rb, n, t, op, c)
int guarded_Sendrecv(const void *b, int n, MPI_Datatype t, int to, int tag, void *rb, int rn, MPI_Datatype rt, int from, int rtag,
                     MPI_Comm c, MPI_Status *s, int i, vector *v)
    WRAP(Sendrecv, b, n, t, to, tag, rb, rn, rt, from, rtag, c, s)
int guarded_Dist_graph_create_adjacent(MPI_Comm c, int in, const int sources[], const int in_weights[], int out, const int to[],
                                       const int out_weights[], MPI_Info info, int reorder, MPI_Comm *graph, int i, vector *v)
    WRAP(Dist_graph_create_adjacent, c, in, sources, in_weights, out, to, out_weights, info, reorder, graph)
int guarded_Ialltoallw(const void *b, const int n[], const int d[], const MPI_Datatype t[], void *rb, const int rn[],
                       const int rd[], const MPI_Datatype rt[], MPI_Comm c, MPI_Request *r, int i, vector *v)
    WRAP(Ialltoallw, b, n, d, t, rb, rn, rd, rt, c, r)
int guarded_Alltoallw(const void *b, const int n[], const int d[], const MPI_Datatype t[], void *rb, const int rn[],
                      const int rd[], const MPI_Datatype rt[], MPI_Comm c, int i, vector *v)
    WRAP(Alltoallw, b, n, d, t, rb, rn, rd, rt, c)

int guarded_Finalize(int i, vector *v)
{
    void *next = NULL;
    QMPI_TABLE_QUERY(_MPI_Finalize, &next, (*VECTOR_GET(v, i)).table);
    printf("tool guard_page_thesis: calls=%d\n", calls);
    fflush(stdout);
    return EXEC_FUNC(next, i, _MPI_Finalize, v);
}

//# kind: thesis
//# lang: c
//# mpi: both
//# cflags: -I../bridge/include
/* thesis_counter: how often functions are called, counted apart for each place in the stack.
 *
 * Two instances of a tool of the thesis's prototype share the library and its variables, so what must be apart is in the
 * context: QMPI_Set_context in MPI_Init, QMPI_Get_context in every wrapper. At MPI_Finalize rank 0 prints one line with
 * the sums over all ranks, of functions that were called:
 *
 *     thesis_counter at level 1: Send 12 Recv 12 Bcast 4
 *
 * Build: mpicc -shared -fPIC -O2 -I bridge/include thesis_counter.c -o thesis_counter.so */
#include <mpi.h>
#include <stdio.h>

#include "qmpi_thesis.h"

#define FUNCTIONS(X) X(Send) X(Recv) X(Sendrecv) X(Bcast) X(Allreduce) X(Barrier) X(Wtime)
#define AS_ENUM(f) F_##f,
#define AS_NAME(f) #f,
enum function { FUNCTIONS(AS_ENUM) FUNCTION_COUNT };
static const char *const names[] = { FUNCTIONS(AS_NAME) };

struct context {
    long long calls[FUNCTION_COUNT];
};

char *get_interceptions(int i)
{
#define AS_CASE(f) case _MPI_##f: return "Counter_" #f;
    switch (i) {
    AS_CASE(Init) AS_CASE(Init_thread) AS_CASE(Finalize)
    FUNCTIONS(AS_CASE)
    default: return NULL;
    }
}

static void start(int i, vector *v)
{
    struct context zero = { { 0 } };
    QMPI_Set_context(v, i, &zero, sizeof zero);
}

static void count(enum function f, int i, vector *v)
{
    struct context *mine = QMPI_Get_context(v, i);
    if (mine)
        __atomic_add_fetch(&mine->calls[f], 1, __ATOMIC_RELAXED);
}

/* What comes next for a function. */
static void *next(int function, int i, vector *v)
{
    void *f = NULL;
    QMPI_TABLE_QUERY(function, &f, (*VECTOR_GET(v, i)).table);
    return f;
}

#define WRAP(f, ...)                                                                \
    {                                                                        \
        count(F_##f, i, v);                                                  \
        return EXEC_FUNC(next(_MPI_##f, i, v), i, _MPI_##f, v, __VA_ARGS__); \
    }

int Counter_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, int i, vector *v)
    WRAP(Send, b, n, t, to, tag, c)
int Counter_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s, int i, vector *v)
    WRAP(Recv, b, n, t, from, tag, c, s)
int Counter_Sendrecv(const void *b, int n, MPI_Datatype t, int to, int tag, void *rb, int rn, MPI_Datatype rt, int from,
                     int rtag, MPI_Comm c, MPI_Status *s, int i, vector *v)
    WRAP(Sendrecv, b, n, t, to, tag, rb, rn, rt, from, rtag, c, s)
int Counter_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c, int i, vector *v) WRAP(Bcast, b, n, t, root, c)
int Counter_Allreduce(const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c, int i, vector *v)
    WRAP(Allreduce, b, rb, n, t, op, c)
int Counter_Barrier(MPI_Comm c, int i, vector *v) WRAP(Barrier, c)

/* EXEC_FUNC returns an int. */
double Counter_Wtime(int i, vector *v)
{
    double (*wtime)(int, vector *) = (double (*)(int, vector *))next(_MPI_Wtime, i, v);
    count(F_Wtime, i, v);
    return wtime(QMPI_GET_LEVEL(i, _MPI_Wtime, v), v);
}

int Counter_Init(int *argc, char ***argv, int i, vector *v)
{
    start(i, v);
    return EXEC_FUNC(next(_MPI_Init, i, v), i, _MPI_Init, v, argc, argv);
}

int Counter_Init_thread(int *argc, char ***argv, int wanted, int *got, int i, vector *v)
{
    start(i, v);
    return EXEC_FUNC(next(_MPI_Init_thread, i, v), i, _MPI_Init_thread, v, argc, argv, wanted, got);
}

int Counter_Finalize(int i, vector *v)
{
    struct context *mine = QMPI_Get_context(v, i), sums;
    int rank = -1;
    EXEC_FUNC(next(_MPI_Comm_rank, i, v), i, _MPI_Comm_rank, v, MPI_COMM_WORLD, &rank);
    if (mine)
        EXEC_FUNC(next(_MPI_Reduce, i, v), i, _MPI_Reduce, v, mine->calls, sums.calls, FUNCTION_COUNT, MPI_LONG_LONG,
                  MPI_SUM, 0, MPI_COMM_WORLD);
    if (mine && rank == 0) {
        printf("thesis_counter at level %d:", i);
        for (int f = 0; f < FUNCTION_COUNT; f++)
            if (sums.calls[f])
                printf(" %s %lld", names[f], sums.calls[f]);
        puts("");
    }
    return EXEC_FUNC(next(_MPI_Finalize, i, v), i, _MPI_Finalize, v);
}

//# role: companion
//# lang: c
//# mpi: both
//# cflags: -I../bridge/include
/* count_thesis: a tool of the 2018 thesis that counts as qmpi_foo_bar does: `thesis 3, rank 0: send 800, irecv 800, wait 800`. */
#include <mpi.h>
#include <qmpi_thesis.h>
#include <stdatomic.h>
#include <stdio.h>

struct counts {
    _Atomic int send, irecv, wait;
};

char *get_interceptions(int number)
{
    switch (number) {
    case _MPI_Init_thread: return "count_Init_thread";
    case _MPI_Send: return "count_Send";
    case _MPI_Irecv: return "count_Irecv";
    case _MPI_Wait: return "count_Wait";
    case _MPI_Finalize: return "count_Finalize";
    default: return "NULL";
    }
}

static void *next_of(int number, int level, vector *v)
{
    void *next = NULL;
    QMPI_TABLE_QUERY(number, &next, (*VECTOR_GET(v, level)).table);
    return next;
}

int count_Init_thread(int *argc, char ***argv, int wanted, int *got, int i, vector *v)
{
    struct counts nothing = { 0, 0, 0 };
    QMPI_Set_context(v, i, &nothing, sizeof nothing);
    return exec_func(next_of(_MPI_Init_thread, i, v), i, _MPI_Init_thread, v, argc, argv, wanted, got);
}

int count_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, int i, vector *v)
{
    ((struct counts *)QMPI_Get_context(v, i))->send++;
    return exec_func(next_of(_MPI_Send, i, v), i, _MPI_Send, v, b, n, t, to, tag, c);
}

int count_Irecv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r, int i, vector *v)
{
    ((struct counts *)QMPI_GET_CONTEXT(v, i))->irecv++;
    return exec_func(next_of(_MPI_Irecv, i, v), i, _MPI_Irecv, v, b, n, t, from, tag, c, r);
}

int count_Wait(MPI_Request *r, MPI_Status *s, int i, vector *v)
{
    typedef int wait_function(MPI_Request *, MPI_Status *, int, vector *);
    ((struct counts *)QMPI_GET_CONTEXT(v, i))->wait++;
    return ((wait_function *)next_of(_MPI_Wait, i, v))(r, s, QMPI_GET_LEVEL(i, _MPI_Wait, v), v);
}

int count_Finalize(int i, vector *v)
{
    struct counts *counts = QMPI_Get_context(v, i);
    int rank = -1, result;
    exec_func(next_of(_MPI_Comm_rank, i, v), i, _MPI_Comm_rank, v, MPI_COMM_WORLD, &rank);
    result = exec_func(next_of(_MPI_Finalize, i, v), i, _MPI_Finalize, v);
    printf("thesis %d, rank %d: send %d, irecv %d, wait %d\n", i, rank, counts->send, counts->irecv, counts->wait);
    fflush(stdout);
    return result;
}

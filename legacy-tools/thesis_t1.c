//# kind: thesis
//# lang: c
//# mpi: both
//# cflags: -I../bridge/include
/* thesis_t1: says which functions are called, at which level.
 *
 * After tool T1 of the QMPI thesis (listing 7.1): the ways in which a wrapper of its prototype goes on. MPI_Comm_rank is
 * called directly, with the level from QMPI_Get_level; the others through EXEC_FUNC. The wrapper of MPI_Pcontrol does not
 * go on: the runtime tells every tool. That of MPI_Finalize returns nothing, as in the thesis.
 *
 *     T1 MPI_Comm_rank at level 2      one line per call, from every rank
 *
 * Build: mpicc -shared -fPIC -O2 -I bridge/include thesis_t1.c -o thesis_t1.so */
#include <mpi.h>
#include <stdio.h>

#include "qmpi_thesis.h"

static void say(const char *function, int level) { printf("T1 %s at level %d\n", function, level); }

/* Here every function in its place, as in the thesis, by the names of the places. The others are NULL. */
static char *const interceptions[NUM_MPI_FUNCS] = {
    [_MPI_Allgather] = "T1_Allgather",
    [_MPI_Allgatherv] = "T1_Allgatherv",
    [_MPI_Comm_rank] = "T1_Comm_rank",
    [_MPI_Comm_size] = "T1_Comm_size",
    [_MPI_Finalize] = "T1_Finalize",
    [_MPI_Init] = "T1_Init",
    [_MPI_Pcontrol] = "T1_Pcontrol",
};

char *get_interceptions(int i) { return interceptions[i] ? interceptions[i] : "NULL"; }

int T1_Init(int *argc, char ***argv, int i, vector *v)
{
    void *f = NULL;
    say("MPI_Init", i);
    QMPI_TABLE_QUERY(_MPI_Init, &f, (*VECTOR_GET(v, i)).table);
    return EXEC_FUNC(f, i, _MPI_Init, v, argc, argv);
}

int T1_Comm_rank(MPI_Comm comm, int *rank, int i, vector *v)
{
    typedef int (*comm_rank)(MPI_Comm comm, int *rank, int i, vector *v);
    void *f = NULL;
    say("MPI_Comm_rank", i);
    QMPI_TABLE_QUERY(_MPI_Comm_rank, &f, (*VECTOR_GET(v, i)).table);
    return ((comm_rank)f)(comm, rank, QMPI_Get_level(i, _MPI_Comm_rank, v), v);
}

int T1_Comm_size(MPI_Comm comm, int *size, int i, vector *v)
{
    void *f = NULL;
    say("MPI_Comm_size", i);
    QMPI_Table_query(_MPI_Comm_size, &f, (*vector_get(v, i)).table);
    return exec_func(f, i, _MPI_Comm_size, v, comm, size);
}

int T1_Allgather(const void *sent, int count, MPI_Datatype type, void *got, int got_count, MPI_Datatype got_type,
                 MPI_Comm comm, int i, vector *v)
{
    void *f = NULL;
    say("MPI_Allgather", i);
    QMPI_TABLE_QUERY(_MPI_Allgather, &f, (*VECTOR_GET(v, i)).table);
    return EXEC_FUNC(f, i, _MPI_Allgather, v, sent, count, type, got, got_count, got_type, comm);
}

int T1_Allgatherv(const void *sent, int count, MPI_Datatype type, void *got, const int got_counts[],
                  const int displacements[], MPI_Datatype got_type, MPI_Comm comm, int i, vector *v)
{
    void *f = NULL;
    say("MPI_Allgatherv", i);
    QMPI_TABLE_QUERY(_MPI_Allgatherv, &f, (*VECTOR_GET(v, i)).table);
    return EXEC_FUNC(f, i, _MPI_Allgatherv, v, sent, count, type, got, got_counts, displacements, got_type, comm);
}

void T1_Finalize(int i, vector *v)
{
    void *f = NULL;
    say("MPI_Finalize", i);
    QMPI_TABLE_QUERY(_MPI_Finalize, &f, (*VECTOR_GET(v, i)).table);
    EXEC_FUNC(f, i, _MPI_Finalize, v);
}

int T1_Pcontrol(const int level, int i, vector *v)
{
    printf("T1 MPI_Pcontrol(%d) at level %d\n", level, i);
    return v && vector_total(v) > i ? MPI_SUCCESS : MPI_ERR_OTHER;
}

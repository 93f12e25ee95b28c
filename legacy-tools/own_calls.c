//# lang: c
//# mpi: both
//# program: own_calls_app.c
//# expect-stdout: tool own_calls: ok calls=20 ranks=2 freed=1
/* Calls MPI for itself in every place that a tool can: in wrappers, beside what they pass on; in functions that they call; before
 * and after a jump out of one; in callbacks; in wrappers inside of wrappers; at the end. Which of its calls are its own, and
 * which pass the program's on, is in the comments: with `own_calls = "hidden"` the layers below see the latter only. */
#include "verdict.h"

#include <mpi.h>
#include <setjmp.h>
#include <stdlib.h>

static MPI_Comm own = MPI_COMM_NULL;
static int key = MPI_KEYVAL_INVALID, ranks, freed;

/* Called by MPI inside of MPI_Comm_free: its MPI_Comm_rank is its own. */
static int delete_attribute(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int rank;
    (void)keyval, (void)value, (void)extra;
    if (PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS)
        fail("MPI_Comm_rank in a callback");
    freed++;
    return MPI_SUCCESS;
}

/* Own: MPI_Comm_dup, MPI_Comm_size, MPI_Comm_create_keyval. */
static void prepare(void)
{
    count_call();
    PMPI_Comm_dup(MPI_COMM_WORLD, &own);
    PMPI_Comm_size(own, &ranks);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &key, NULL);
}

/* Goes on with the other of the two: layers below see it, whatever the tool's calls are otherwise. */
int MPI_Init(int *argc, char ***argv)
{
    int provided;
    int result = PMPI_Init_thread(argc, argv, MPI_THREAD_SINGLE, &provided);
    prepare();
    return result;
}

int MPI_Init_thread(int *argc, char ***argv, int wanted, int *provided)
{
    int result = PMPI_Init_thread(argc, argv, wanted, provided);
    prepare();
    return result;
}

/* Passed on, from a function that all wrappers may share. */
__attribute__((noinline)) static int send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    return PMPI_Send(b, n, t, to, tag, c);
}

/* Own: MPI_Type_size. */
int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    int size;
    count_call();
    PMPI_Type_size(t, &size);
    int result = send(b, n, t, to, tag, c);
    PMPI_Type_size(t, &size);
    return result;
}

/* Ends in a jump, if the compiler makes one of it. */
int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
    count_call();
    return PMPI_Recv(b, n, t, from, tag, c, s);
}

/* Own: MPI_Barrier, on the tool's own communicator, in a function that also wraps it. */
int MPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c)
{
    count_call();
    PMPI_Barrier(own);
    int result = PMPI_Bcast(b, n, t, root, c);
    PMPI_Barrier(own);
    return result;
}

/* Passed on twice: the layers below see two, as with a tool that measures how late the others are. */
int MPI_Barrier(MPI_Comm c)
{
    count_call();
    PMPI_Barrier(c);
    return PMPI_Barrier(c);
}

static jmp_buf back;

__attribute__((noinline)) static void jump(MPI_Comm c)
{
    PMPI_Barrier(own);
    PMPI_Comm_test_inter(c, &(int){ 0 });
    longjmp(back, 1);
}

/* Own: MPI_Barrier, MPI_Comm_test_inter. */
int MPI_Comm_set_name(MPI_Comm c, const char *name)
{
    count_call();
    if (!setjmp(back))
        jump(c);
    return PMPI_Comm_set_name(c, name);
}

/* The user's operation calls MPI_Type_size and MPI_Send meanwhile, whose wrappers are inside of this one. */
int MPI_Allreduce(const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c)
{
    count_call();
    int result = PMPI_Allreduce(b, rb, n, t, op, c);
    PMPI_Allreduce(b, rb, n, t, op, c);
    PMPI_Type_size(t, &(int){ 0 });
    return result;
}

/* Passed on as seen from the program, own as seen from the tool: it is another function. */
int MPI_Sendrecv(const void *b, int n, MPI_Datatype t, int to, int tag, void *rb, int rn, MPI_Datatype rt, int from, int rtag,
                 MPI_Comm c, MPI_Status *s)
{
    MPI_Request request;
    count_call();
    PMPI_Isend(b, n, t, to, tag, c, &request);
    int result = PMPI_Recv(rb, rn, rt, from, rtag, c, s);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
    return result;
}

/* Own: MPI_Comm_set_attr. The callback runs inside. */
int MPI_Comm_free(MPI_Comm *c)
{
    count_call();
    PMPI_Comm_set_attr(*c, key, NULL);
    return PMPI_Comm_free(c);
}

static void at_exit(void)
{
    int finalized = 0;
    PMPI_Finalized(&finalized);
    if (!finalized)
        fail("MPI_Finalized at exit");
}

/* Own: all but MPI_Finalize. */
int MPI_Finalize(void)
{
    int rank, calls = 0, most = 0, all[64];
    count_call();
    atexit(at_exit);
    PMPI_Comm_rank(own, &rank);
    PMPI_Reduce(&verdict_calls, &calls, 1, MPI_INT, MPI_MAX, 0, own);
    PMPI_Allreduce(&verdict_calls, &most, 1, MPI_INT, MPI_MAX, own);
    if (ranks <= 64)
        PMPI_Gather(&verdict_calls, 1, MPI_INT, all, 1, MPI_INT, 0, own);
    if (rank == 0 && (calls != most || all[0] != verdict_calls))
        fail("calls of all ranks: %d, %d, %d", calls, most, all[0]);
    PMPI_Comm_free_keyval(&key);
    PMPI_Comm_free(&own);
    verdict_with("own_calls", rank, "ranks=%d freed=%d", ranks, freed);
    return PMPI_Finalize();
}

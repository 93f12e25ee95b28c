//# role: companion
//# kind: qmpi
//# lang: c
//# mpi: both
//# libs: -lpthread
/* opens_stacks: a QMPI tool that opens named stacks and makes tables from several threads at once.
 *
 * OPENS_STACKS=THREADS,STACKS,EACH: so many in total, in MPI_Init; every EACHth has PMPI tools in it, in
 * turns one and two, the others a QMPI tool. Each stack is opened on top of a table of its own, in which
 * MPI_Comm_size leads to `below_size` with the stack's number as tool id; that number is what the function at the top must
 * give, plus what the tools of the stack add (adds_to_size.c). All tables are used again when all threads are done.
 *
 * Prints `opens_stacks: N stacks, all right`, or what is wrong. */
#include "qmpix.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 4096, ADDED = 1000000 };

static const char *const names[] = { "native", "one", "two" };
static const int added[] = { 1, 1, 2 };
static QMPIX_Table tops[MOST];
static int wrong[MOST];
static int threads = 8, stacks = 1000, each = 125;
static pthread_barrier_t barrier;

/* Bits of what went wrong with a stack. */
enum { CREATE = 1, SET = 2, OPEN = 4, QUERY = 8, CALL = 16, COPY = 32, NAME = 64, DESTROY = 128 };

static int below_size(QMPI_Context context, int tool, MPI_Comm comm, int *size)
{
    (void)context;
    (void)comm;
    *size = tool;
    return MPI_SUCCESS;
}

static int kind_of(int stack) { return stack % each ? 0 : 1 + stack / each % 2; }

static int size_at(QMPIX_Table table)
{
    void (*function)(void) = NULL, (*by_name)(void) = NULL;
    int tool = -1, tool_by_name = -2, size = -1;
    QMPI_Context context = { 0 };
    if (QMPIX_Table_query(table, MPI_COMM_SIZE_T, &function, &tool) != MPI_SUCCESS)
        return -1;
    if (QMPIX_Table_query_name(table, "MPI_Comm_size", &by_name, &tool_by_name) != MPI_SUCCESS || by_name != function ||
        tool_by_name != tool)
        return -2;
    if (((QMPI_Comm_size_t *)function)(context, tool, MPI_COMM_WORLD, &size) != MPI_SUCCESS)
        return -3;
    return size;
}

static void open_one(int stack)
{
    QMPIX_Table below = 0, copy = 0;
    void (*function)(void) = NULL;
    int tool = -1;
    if (QMPIX_Table_create(&below) != MPI_SUCCESS)
        wrong[stack] |= CREATE;
    if (QMPIX_Table_set(below, MPI_COMM_SIZE_T, (void (*)(void))below_size, stack) != MPI_SUCCESS)
        wrong[stack] |= SET;
    if (QMPIX_Table_query_name(below, "MPI_Comm_size", &function, &tool) != MPI_SUCCESS || tool != stack ||
        function != (void (*)(void))below_size)
        wrong[stack] |= QUERY;
    if (QMPIX_Stack_open(names[kind_of(stack)], below, &tops[stack]) != MPI_SUCCESS)
        wrong[stack] |= OPEN;
    if (QMPIX_Table_copy(below, &copy) != MPI_SUCCESS || size_at(copy) != stack)
        wrong[stack] |= COPY;
    if (QMPIX_Table_unset(copy, MPI_COMM_SIZE_T) != MPI_SUCCESS || size_at(copy) != -1)
        wrong[stack] |= NAME;
    if (QMPIX_Table_destroy(&copy) != MPI_SUCCESS || QMPIX_Table_destroy(&below) != MPI_SUCCESS || below || copy)
        wrong[stack] |= DESTROY;
}

static void *open_many(void *first)
{
    pthread_barrier_wait(&barrier);
    for (int stack = (int)(long)first; stack < stacks; stack += threads)
        open_one(stack);
    return NULL;
}

static void open_all(void)
{
    pthread_t running[64];
    const char *text = getenv("OPENS_STACKS");
    if (text && (sscanf(text, "%d,%d,%d", &threads, &stacks, &each) != 3 || threads > 64 || stacks > MOST))
        abort();
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (long i = 0; i < threads; i++)
        pthread_create(&running[i], NULL, open_many, (void *)i);
    for (int i = 0; i < threads; i++)
        pthread_join(running[i], NULL);
    int bad = 0, bits = 0;
    for (int stack = 0; stack < stacks; stack++) {
        if (size_at(tops[stack]) != stack + added[kind_of(stack)] * ADDED)
            wrong[stack] |= CALL;
        bad += wrong[stack] != 0;
        bits |= wrong[stack];
    }
    if (bad)
        printf("opens_stacks: %d of %d stacks are WRONG, in 0x%x\n", bad, stacks, (unsigned)bits);
    else
        printf("opens_stacks: %d stacks, all right\n", stacks);
}

static int opens_Init(QMPI_Context context, int tool, int *argc, char ***argv)
{
    void (*next)(void);
    int next_tool;
    QMPI_Get_function(tool, MPI_INIT_T, &next, &next_tool);
    int result = ((QMPI_Init_t *)next)(context, next_tool, argc, argv);
    open_all();
    return result;
}

static void initialize(int tool)
{
    QMPI_Register_function(tool, MPI_INIT_T, (void (*)(void))opens_Init);
}

__attribute__((constructor)) static void announce(void) { QMPI_Register_tool_name("opens_stacks", initialize); }

/* A QMPI tool that measures the functions of the interface: when MPI is initialized it prints `function ns` for each.
 *
 * Loops of direct calls, as in calls.c: batches of 2,000, the lower decile of 400. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <qmpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CALLS = 2000, BATCHES = 400 };

static QMPI_Context context;
static int tool_id, next_id;
static void (*next)(void);
static void *address;

#define CALLER(name, call)                             \
    __attribute__((noinline)) static void name(void)   \
    {                                                  \
        for (int turn = 0; turn < CALLS / 4; turn++) { \
            call;                                      \
            call;                                      \
            call;                                      \
            call;                                      \
        }                                              \
    }

CALLER(get_function, QMPI_Get_function(tool_id, MPI_RECV_T, &next, &next_id))
CALLER(get_tool_storage, QMPI_Get_tool_storage(context, tool_id, &address))
CALLER(get_calling_address, QMPI_Get_calling_address(context, &address))

static const struct {
    const char *name;
    void (*run)(void);
} subjects[] = {
    { "QMPI_Get_function", get_function },
    { "QMPI_Get_tool_storage", get_tool_storage },
    { "QMPI_Get_calling_address", get_calling_address },
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

static double nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(void)
{
    static double took[SUBJECTS][BATCHES];
    for (int batch = 0; batch < BATCHES; batch++)
        for (int s = 0; s < SUBJECTS; s++) {
            double start = nanoseconds();
            subjects[s].run();
            took[s][batch] = (nanoseconds() - start) / CALLS;
        }
    for (int s = 0; s < SUBJECTS; s++) {
        qsort(took[s], BATCHES, sizeof took[s][0], ascending);
        printf("%s %.4f\n", subjects[s].name, took[s][BATCHES / 10]);
    }
    fflush(stdout);
}

static int tool_Init(QMPI_Context c, int id, int *argc, char ***argv)
{
    context = c;
    tool_id = id;
    if (QMPI_Get_function(id, MPI_RECV_T, &next, &next_id) != MPI_SUCCESS ||
        QMPI_Get_tool_storage(c, id, &address) != MPI_SUCCESS || address != &next_id)
        abort();
    measure();
    QMPI_Get_function(id, MPI_INIT_T, &next, &next_id);
    return ((QMPI_Init_t *)next)(c, next_id, argc, argv);
}

static void initialize(int id)
{
    QMPI_Register_tool_storage(id, &next_id);
    QMPI_Register_function(id, MPI_INIT_T, (void (*)(void))tool_Init);
}

__attribute__((constructor)) static void announce(void) { QMPI_Register_tool_name("interface", initialize); }

//# lang: c
//# mpi: both
//# program: ring.c exits.c
//# expect-stdout: tool exit_handlers: ok calls=2 finalize init2 on_exit init more then destructor
/* exit_handlers: registers exit handlers in a constructor, in MPI_Init and in MPI_Finalize, one of them from another.
 *
 * Hazard: the last one registered runs first, those of MPI_Init and MPI_Finalize before the destructor, those of a
 * constructor behind it, and on_exit gets the status. What EXIT_HANDLERS names is printed before each line, so that a
 * test can tell the order among tools and program; the verdict comes from the destructor.
 *
 * Build: mpicc -shared -fPIC -O2 exit_handlers.c -o exit_handlers.so */
#define _GNU_SOURCE
#include "verdict.h"
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int rank = -1;
static char done[120];
static const char *label;

static void ran(const char *what)
{
    size_t end = strlen(done);
    snprintf(done + end, sizeof done - end, "%s%s", end ? " " : "", what);
    if (label && rank == 0)
        printf("%s: %s\n", label, what);
}

static void of_constructor(void) { ran("constructor"); }
static void more(void) { ran("more"); }
static void init2(void) { ran("init2"); }
static void finalize(void) { ran("finalize"); }

static void init(void)
{
    ran("init");
    if (atexit(more) != 0)
        fail("atexit in a handler");
}

static void with_status(int status, void *argument)
{
    (void)status;
    if (argument != &rank)
        fail("on_exit has lost its argument");
    ran("on_exit");
}

__attribute__((constructor)) static void begin(void)
{
    label = getenv("EXIT_HANDLERS");
    if (atexit(of_constructor) != 0)
        fail("atexit in a constructor");
}

int MPI_Init(int *argc, char ***argv)
{
    count_call();
    if (atexit(init) != 0 || on_exit(with_status, &rank) != 0)
        fail("atexit or on_exit in MPI_Init");
    int result = PMPI_Init(argc, argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (atexit(init2) != 0)
        fail("atexit behind PMPI_Init");
    return result;
}

int MPI_Finalize(void)
{
    count_call();
    if (atexit(finalize) != 0)
        fail("atexit in MPI_Finalize");
    return PMPI_Finalize();
}

__attribute__((destructor)) static void end(void)
{
    if (rank < 0)
        return; /* a process that made no use of MPI, such as the launcher */
    char all[160];
    snprintf(all, sizeof all, "%s then destructor", done);
    ran("destructor");
    if (rank == 0 || verdict_failure[0])
        verdict_with("exit_handlers", rank, "%s", all);
}

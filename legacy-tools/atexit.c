//# lang: c
//# mpi: both
//# program: ring.c
//# expect-stdout: tool atexit: ok calls=3 handler, then destructor
/* atexit: writes its report after main: from an atexit handler, and from a destructor function.
 *
 * Hazard: both run in exit(). They must run, once each and in this order, in time for stdio to write out what
 * they print; ATEXIT_FILE names a file that the destructor writes, too. The verdict comes from the destructor.
 *
 * Build: mpicc -shared -fPIC -O2 atexit.c -o atexit.so */
#include "verdict.h"
#include <mpi.h>
#include <stdlib.h>

static int rank = -1, handled;
static char *memory; /* from before main: the heap must still be there at the end */

__attribute__((constructor)) static void begin(void) { memory = malloc(100); }

static void at_exit(void)
{
    handled++;
    snprintf(memory, 100, "handler");
    if (fflush(stdout) != 0 || ferror(stdout))
        fail("stdout is closed in an atexit handler");
}

int MPI_Init(int *argc, char ***argv)
{
    count_call();
    if (atexit(at_exit) != 0)
        fail("atexit");
    return PMPI_Init(argc, argv);
}

int MPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c)
{
    count_call();
    return PMPI_Bcast(b, n, t, root, c);
}

int MPI_Finalize(void)
{
    count_call();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return PMPI_Finalize();
}

__attribute__((destructor)) static void end(void)
{
    if (rank < 0)
        return; /* a process that made no use of MPI, such as the launcher */
    if (handled != 1)
        fail("the atexit handler ran %d times before the destructor", handled);
    const char *path = getenv("ATEXIT_FILE");
    FILE *file = path && rank == 0 ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%s, then destructor\n", memory);
        fclose(file);
    }
    verdict_with("atexit", rank, "%s, then destructor", memory);
    free(memory);
}

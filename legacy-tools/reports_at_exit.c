//# lang: c
//# mpi: both
//# program: ring.c
//# expect-stdout: tool reports_at_exit: ok calls=4 reduced=16
/* reports_at_exit: keeps MPI_Finalize for its exit handler, which first gathers its report with MPI.
 *
 * Hazard: the tools below see both at exit: they have to be alive then, and must not have finalized MPI themselves, which two
 * of this kind in one stack would do. ON_DESTRUCTOR and ON_CONSTRUCTOR choose where it ends instead: in a destructor, or in a
 * handler that a constructor registered.
 *
 * Build: mpicc -shared -fPIC -O2 reports_at_exit.c -o reports_at_exit.so */
#include "verdict.h"
#include <mpi.h>
#include <stdlib.h>

static int rank = -1, is_kept;
static int *counted; /* from MPI_Init to the end of the report */

static void report(void)
{
    int before = -1, all = 0;
    if (!is_kept)
        return; /* a process that made no use of MPI, such as the launcher */
    PMPI_Finalized(&before);
    if (before != 0)
        fail("MPI is finalized already");
    else if (!counted)
        fail("the report was made before");
    else {
        int result = PMPI_Reduce(counted, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
        PMPI_Barrier(MPI_COMM_WORLD);
        if (result != MPI_SUCCESS)
            fail("PMPI_Reduce returns %d", result);
        PMPI_Finalize();
    }
    free(counted);
    counted = NULL;
    verdict_with("reports_at_exit", rank, "reduced=%d", all);
}

#ifdef ON_DESTRUCTOR
__attribute__((destructor)) static void end(void) { report(); }
#endif
#ifdef ON_CONSTRUCTOR
__attribute__((constructor)) static void begin(void) { atexit(report); }
#endif

int MPI_Init(int *argc, char ***argv)
{
    count_call();
    counted = calloc(1, sizeof *counted);
    ++*counted;
#if !defined ON_DESTRUCTOR && !defined ON_CONSTRUCTOR
    if (atexit(report) != 0)
        fail("atexit");
#endif
    return PMPI_Init(argc, argv);
}

int MPI_Barrier(MPI_Comm c)
{
    count_call();
    if (counted)
        ++*counted;
    else
        fail("MPI_Barrier behind the report");
    return PMPI_Barrier(c);
}

int MPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c)
{
    count_call();
    ++*counted;
    return PMPI_Bcast(b, n, t, root, c);
}

int MPI_Finalize(void)
{
    count_call();
    if (!counted)
        fail("MPI_Finalize behind the report");
    else
        ++*counted;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    is_kept = 1;
    return MPI_SUCCESS;
}

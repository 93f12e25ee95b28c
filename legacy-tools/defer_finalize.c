//# lang: c
//# twice: no, layers below see MPI_Finalize at exit
//# mpi: both
//# program: ring.c
//# expect-stdout: tool defer_finalize: ok calls=3
/* defer_finalize: swallows MPI_Finalize, and calls PMPI_Finalize from an atexit handler.
 *
 * Hazard: the tools below see MPI_Finalize only in exit(), when those written in C++ would have lost their objects. They have
 * to end behind this one. Alone, it works: MPI is finalized, if late.
 *
 * Build: mpicc -shared -fPIC -O2 defer_finalize.c -o defer_finalize.so */
#include "verdict.h"
#include <mpi.h>
#include <stdlib.h>

static int rank = -1;

static void finalize_at_last(void)
{
    int before = -1, after = -1;
    PMPI_Finalized(&before);
    PMPI_Finalize();
    PMPI_Finalized(&after);
    if (before != 0 || after != 1)
        fail("PMPI_Finalized says %d before and %d after", before, after);
    verdict("defer_finalize", rank, "");
}

int MPI_Init(int *argc, char ***argv)
{
    count_call();
    return PMPI_Init(argc, argv);
}

int MPI_Barrier(MPI_Comm c)
{
    count_call();
    return PMPI_Barrier(c);
}

int MPI_Finalize(void)
{
    count_call();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (atexit(finalize_at_last) != 0)
        fail("atexit");
    return MPI_SUCCESS;
}

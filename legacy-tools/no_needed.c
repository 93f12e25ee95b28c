//# lang: c
//# mpi: both
//# needs-mpi: no
//# program: ring.c
//# expect-stdout: tool no_needed: ok calls=8
/* no_needed: a tool that does not say that it needs MPI.
 *
 * Hazard: without DT_NEEDED nothing names the MPI library, and PMPI_Send is whatever the lookup scope holds.
 * Debian's libompitrace.so is built like this. The tool refers to functions only: a reference to Open MPI's
 * variables would keep even the launcher from starting under LD_PRELOAD. The communicator is the program's.
 *
 * Build: mpicc -c -fPIC -O2 no_needed.c && cc -shared no_needed.o -o no_needed.so */
#include "verdict.h"
#include <mpi.h>

static MPI_Comm latest;

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    count_call();
    latest = c;
    return PMPI_Send(b, n, t, to, tag, c);
}

int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
    count_call();
    return PMPI_Recv(b, n, t, from, tag, c, s);
}

int MPI_Barrier(MPI_Comm c)
{
    count_call();
    return PMPI_Barrier(c);
}

int MPI_Finalize(void)
{
    int rank = -1;
    count_call();
    PMPI_Comm_rank(latest, &rank);
    verdict("no_needed", rank, "");
    return PMPI_Finalize();
}

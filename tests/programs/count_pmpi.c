//# role: companion
//# lang: c
//# mpi: both
/* count_pmpi: a PMPI tool that counts as qmpi_foo_bar does: `pmpi, rank 0: send 800, irecv 800, wait 800`. */
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>

static _Atomic int sends, irecvs, waits;

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    sends++;
    return PMPI_Send(b, n, t, to, tag, c);
}

int MPI_Irecv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r)
{
    irecvs++;
    return PMPI_Irecv(b, n, t, from, tag, c, r);
}

int MPI_Wait(MPI_Request *r, MPI_Status *s)
{
    waits++;
    return PMPI_Wait(r, s);
}

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int result = PMPI_Finalize();
    printf("pmpi, rank %d: send %d, irecv %d, wait %d\n", rank, sends, irecvs, waits);
    fflush(stdout);
    return result;
}

/* A tool of the 2018 prototype that does nothing: every wrapper goes on through exec_func. */
#include <mpi.h>

#include "qmpi_thesis.h"

static char *const interceptions[NUM_MPI_FUNCS] = {
    [_MPI_Comm_rank] = "pass_Comm_rank", [_MPI_Probe] = "pass_Probe",       [_MPI_Bcast] = "pass_Bcast",
    [_MPI_Recv] = "pass_Recv",           [_MPI_Sendrecv] = "pass_Sendrecv",
};

char *get_interceptions(int i) { return interceptions[i] ? interceptions[i] : "NULL"; }

#define PLAIN(...) __VA_ARGS__

#define WRAPPER(f, parameters, ...)                                       \
    int pass_##f(PLAIN parameters, int i, vector *v)                      \
    {                                                                     \
        void *next = NULL;                                                \
        QMPI_TABLE_QUERY(_MPI_##f, &next, (*VECTOR_GET(v, i)).table);     \
        return EXEC_FUNC(next, i, _MPI_##f, v, __VA_ARGS__);              \
    }

WRAPPER(Comm_rank, (MPI_Comm comm, int *rank), comm, rank)
WRAPPER(Probe, (int source, int tag, MPI_Comm comm, MPI_Status *status), source, tag, comm, status)
WRAPPER(Bcast, (void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm), buffer, count, datatype, root,
        comm)
WRAPPER(Recv, (void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status),
        buf, count, datatype, source, tag, comm, status)
WRAPPER(Sendrecv, (const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
                   int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status),
        sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, status)

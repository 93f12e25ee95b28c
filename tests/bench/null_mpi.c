/* A null MPI: every function returns at once. A measuring instrument for the way there.
 *
 * As in real MPI libraries, MPI_f is a weak name for PMPI_f. */
#include <mpi.h>

#define RETURNS_AT_ONCE(f, parameters)    \
    int PMPI_##f parameters               \
    {                                     \
        return MPI_SUCCESS;               \
    }                                     \
    int MPI_##f parameters __attribute__((weak, alias("PMPI_" #f)));

RETURNS_AT_ONCE(Init, (int *argc, char ***argv))
RETURNS_AT_ONCE(Finalize, (void))
RETURNS_AT_ONCE(Comm_rank, (MPI_Comm comm, int *rank))
RETURNS_AT_ONCE(Probe, (int source, int tag, MPI_Comm comm, MPI_Status *status))
RETURNS_AT_ONCE(Bcast, (void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm))
RETURNS_AT_ONCE(Recv, (void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                       MPI_Status *status))
RETURNS_AT_ONCE(Sendrecv, (const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                           void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                           MPI_Comm comm, MPI_Status *status))

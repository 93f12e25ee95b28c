//# lang: c
//# mpi: both
//# program: ring.c
/* tbcast: MPI_Bcast made of sends and receives.
 *
 * The tool of the QMPI thesis (listing 7.2): a layer that turns one function into others, so that a counter
 * outside of it sees MPI_Bcast and a counter inside of it sees MPI_Send and MPI_Recv. The root sends to one
 * rank after the other, as in the thesis; TBCAST=binomial takes a tree. Prints nothing.
 *
 * The messages travel on the program's own communicator with one tag, so a program that waits for any tag from
 * the root during a broadcast would get them. Broadcasts between groups are left to the MPI library.
 *
 * Build: mpicc -shared -fPIC -O2 tbcast.c -o tbcast.so */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 32767 }; /* the largest that every MPI must accept (MPI_TAG_UB) */

static int linear(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, int rank, int size)
{
    if (rank != root)
        return PMPI_Recv(buffer, count, type, root, TAG, comm, MPI_STATUS_IGNORE);
    int result = MPI_SUCCESS;
    for (int to = 0; to < size && result == MPI_SUCCESS; to++)
        if (to != root)
            result = PMPI_Send(buffer, count, type, to, TAG, comm);
    return result;
}

/* Numbered from the root, rank v gets the data from v without its lowest set bit, and hands it on to v plus
 * every smaller power of two. */
static int binomial(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, int rank, int size)
{
    int v = (rank - root + size) % size, bit = 1, result = MPI_SUCCESS;
    while (bit < size && !(v & bit))
        bit <<= 1;
    if (v != 0)
        result = PMPI_Recv(buffer, count, type, ((v & ~bit) + root) % size, TAG, comm, MPI_STATUS_IGNORE);
    for (bit >>= 1; bit > 0 && result == MPI_SUCCESS; bit >>= 1)
        if (v + bit < size)
            result = PMPI_Send(buffer, count, type, (v + bit + root) % size, TAG, comm);
    return result;
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    int rank, size, between_groups;
    PMPI_Comm_test_inter(comm, &between_groups);
    if (between_groups)
        return PMPI_Bcast(buffer, count, type, root, comm);
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    const char *shape = getenv("TBCAST");
    return (shape && strcmp(shape, "binomial") == 0 ? binomial : linear)(buffer, count, type, root, comm, rank, size);
}

//# kind: thesis
//# lang: c
//# mpi: both
//# cflags: -I../bridge/include
/* thesis_tbcast: MPI_Bcast made of sends and receives, which layers further inside see.
 *
 * After tool TBcast of the QMPI thesis (listing 7.2): a wrapper that calls other functions than its own. The messages
 * travel on the program's communicator with one tag. The thesis asks for the rank in MPI_COMM_WORLD; here it is that in
 * the broadcast's own communicator. Prints nothing.
 *
 * Build: mpicc -shared -fPIC -O2 -I bridge/include thesis_tbcast.c -o thesis_tbcast.so */
#include <mpi.h>

#include "qmpi_thesis.h"

enum { TAG = 32767 }; /* the largest that every MPI must accept (MPI_TAG_UB) */

char *get_interceptions(int i) { return i == _MPI_Bcast ? "TB_Bcast" : "NULL"; }

int TB_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, int i, vector *v)
{
    int rank = 0, size = 0, result = MPI_SUCCESS;
    void *f = NULL;
    MPI_TABLE_QUERY(_MPI_Comm_rank, &f, (*(VECTOR_GET(v, i))).table);
    EXEC_FUNC(f, i, _MPI_Comm_rank, v, comm, &rank);
    MPI_TABLE_QUERY(_MPI_Comm_size, &f, (*(VECTOR_GET(v, i))).table);
    EXEC_FUNC(f, i, _MPI_Comm_size, v, comm, &size);
    if (rank != root) {
        MPI_TABLE_QUERY(_MPI_Recv, &f, (*(VECTOR_GET(v, i))).table);
        return EXEC_FUNC(f, i, _MPI_Recv, v, buffer, count, type, root, TAG, comm, MPI_STATUS_IGNORE);
    }
    MPI_TABLE_QUERY(_MPI_Send, &f, (*(VECTOR_GET(v, i))).table);
    for (int to = 0; to < size && result == MPI_SUCCESS; to++)
        if (to != root)
            result = EXEC_FUNC(f, i, _MPI_Send, v, buffer, count, type, to, TAG, comm);
    return result;
}

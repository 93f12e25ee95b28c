/* qmpi.h beside the null MPI: the real one, and the types of the functions that the null MPI has. */
#ifndef NULL_QMPI_H
#define NULL_QMPI_H

#include_next <qmpi.h>

typedef int QMPI_Init_t(QMPI_Context context, int tool_id, int *argc, char ***argv);
typedef int QMPI_Finalize_t(QMPI_Context context, int tool_id);
typedef int QMPI_Comm_rank_t(QMPI_Context context, int tool_id, MPI_Comm comm, int *rank);
typedef int QMPI_Probe_t(QMPI_Context context, int tool_id, int source, int tag, MPI_Comm comm, MPI_Status *status);
typedef int QMPI_Bcast_t(QMPI_Context context, int tool_id, void *buffer, int count, MPI_Datatype datatype, int root,
                         MPI_Comm comm);
typedef int QMPI_Recv_t(QMPI_Context context, int tool_id, void *buf, int count, MPI_Datatype datatype, int source,
                        int tag, MPI_Comm comm, MPI_Status *status);
typedef int QMPI_Sendrecv_t(QMPI_Context context, int tool_id, const void *sendbuf, int sendcount,
                            MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf, int recvcount,
                            MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status);

#endif

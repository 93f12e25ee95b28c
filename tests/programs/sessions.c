//# lang: c
//# mpi: mpich
//# standard: 4
//# ranks: 2
//# expect-stdout: sessions: 2 processes, sum 3
/* MPI without MPI_Init: MPI_Session_init is the first call (MPI-4.0, 11.3), and MPI_COMM_WORLD is never valid. */
#include <mpi.h>
#include <stdio.h>

int main(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int rank, size, one, sum = 0;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "tests.sessions", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    one = rank + 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (rank == 0)
        printf("sessions: %d processes, sum %d\n", size, sum);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return 0;
}

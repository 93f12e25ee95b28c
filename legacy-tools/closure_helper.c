//# role: companion
//# lang: c
//# mpi: both
/* closure_helper: the library that closure.c is linked with. It has wrappers of its own, and calls a function of the
 * tool that it is not linked with.
 *
 * Build: mpicc -shared -fPIC -O2 closure_helper.c -o closure_helper.so */
#include <mpi.h>

int helper_calls;
int helper_barrier(MPI_Comm c);
void closure_called(void);

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    helper_calls++;
    closure_called();
    return PMPI_Send(b, n, t, to, tag, c);
}

int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
    helper_calls++;
    closure_called();
    return PMPI_Recv(b, n, t, from, tag, c, s);
}

int helper_barrier(MPI_Comm c)
{
    helper_calls++;
    return PMPI_Barrier(c);
}

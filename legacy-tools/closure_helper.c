//# role: companion
//# lang: c
//# mpi: both
/* closure_helper: the library that closure.c is linked with. It does the tool's calls to MPI, calls a function of the
 * tool that it is not linked with, and has a wrapper that is not used when closure.so is preloaded.
 *
 * Build: mpicc -shared -fPIC -O2 closure_helper.c -o closure_helper.so */
#include <mpi.h>

int helper_calls, helper_bcasts;
int helper_barrier(MPI_Comm c);
int helper_send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c);
int helper_recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s);
void closure_called(void); /* in the tool */

static void called(void)
{
    helper_calls++;
    closure_called();
}

int helper_send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    called();
    return PMPI_Send(b, n, t, to, tag, c);
}

int helper_recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
    called();
    return PMPI_Recv(b, n, t, from, tag, c, s);
}

int helper_barrier(MPI_Comm c)
{
    called();
    return PMPI_Barrier(c);
}

int MPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c)
{
    helper_bcasts++;
    return PMPI_Bcast(b, n, t, root, c);
}

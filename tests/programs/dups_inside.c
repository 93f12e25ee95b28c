//# role: companion
//# lang: c
//# mpi: both
//# cflags: -fno-optimize-sibling-calls
/* dups_inside: a PMPI tool that duplicates a communicator in MPI_Send before it goes on. That calls the application's
 * attribute functions, which call MPI, and come here again: three deep. */
#include <mpi.h>

static void duplicate(void)
{
    static int depth;
    MPI_Comm copy;
    if (depth == 3)
        return;
    depth++;
    PMPI_Comm_dup(MPI_COMM_SELF, &copy);
    PMPI_Comm_free(&copy);
    depth--;
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    duplicate();
    return PMPI_Send(buffer, count, type, to, tag, comm);
}

//# lang: c
//# mpi: both
//# program: ring.c
//# expect-stdout: tool base_tool: ok calls=9
/* base_tool: a tool that is in the program already.
 *
 * An ordinary PMPI tool without surprises, meant to be linked into the application or preloaded by the user.
 * Hazard: such a tool comes before any other, and its PMPI calls must enter the stack of the other tools.
 *
 * Build: mpicc -shared -fPIC -O2 base_tool.c -o base_tool.so, or mpicc app.c base_tool.c -o app */
#include "verdict.h"
#include <mpi.h>

int MPI_Init(int *argc, char ***argv)
{
    count_call();
    return PMPI_Init(argc, argv);
}

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    count_call();
    return PMPI_Send(b, n, t, to, tag, c);
}

int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
    count_call();
    return PMPI_Recv(b, n, t, from, tag, c, s);
}

int MPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c)
{
    count_call();
    return PMPI_Bcast(b, n, t, root, c);
}

int MPI_Finalize(void)
{
    int rank;
    count_call();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict("base_tool", rank, "");
    return PMPI_Finalize();
}

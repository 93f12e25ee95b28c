//# role: companion
//# lang: c
//# mpi: both
//# cflags: -fno-optimize-sibling-calls
/* names_frames_tool: a tool of which a program asks what its functions are called (names_frames.c). */
#include <mpi.h>

void names_frames_tool(void) {}

int MPI_Reduce_local(const void *in, void *inout, int n, MPI_Datatype t, MPI_Op op)
{
    int result = PMPI_Reduce_local(in, inout, n, t, op);
    return result;
}

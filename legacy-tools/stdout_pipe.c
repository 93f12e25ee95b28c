//# lang: c
//# mpi: both
//# program: ring.c
//# expect-stdout: tool stdout_pipe: ok calls=8
/* stdout_pipe: prints in pieces, never flushes, and leaves a file open.
 *
 * Hazard: a second C library has a stdout of its own, whose buffer is not written out at exit. On a terminal each
 * line still appears; in a pipe or a file the tool's output is lost. STDOUT_PIPE_FILE names a file that gets the
 * same line and is never closed. The order of the tool's and the program's lines shows whether they share a FILE.
 *
 * Build: mpicc -shared -fPIC -O2 stdout_pipe.c -o stdout_pipe.so */
#include "verdict.h"
#include <mpi.h>
#include <stdlib.h>

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

int MPI_Barrier(MPI_Comm c)
{
    count_call();
    return PMPI_Barrier(c);
}

static void in_pieces(FILE *out)
{
    fputs("tool ", out);
    fprintf(out, "%s: ok ", "stdout_pipe");
    fprintf(out, "calls=%d", verdict_calls);
    putc('\n', out); /* only ends the line: on a pipe it writes nothing out */
}

int MPI_Finalize(void)
{
    int rank = -1;
    count_call();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int result = PMPI_Finalize();
    const char *path = getenv("STDOUT_PIPE_FILE");
    if (rank == 0) {
        in_pieces(stdout);
        FILE *file = path ? fopen(path, "w") : NULL;
        if (file)
            in_pieces(file);
    }
    return result;
}

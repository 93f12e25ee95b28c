//# role: companion
//# lang: fortran
//# mpi: both
//# cflags: -w -Wl,-z,lazy
/* A PMPI tool that wraps the functions that guard_page.c calls, in C and in Fortran, and says how many calls it saw. It passes
 * MPI_Pcontrol on; with -DKEEPS_PCONTROL (guard_page_keeps.c) it does not. */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef MPI_Fint F;
static int calls, fortran, wrong;

int MPI_Pcontrol(const int level, ...)
{
    va_list args;
    calls++;
    va_start(args, level);
    if (level == 2) {
        const char *text = va_arg(args, const char *);
        double number = va_arg(args, double);
        long last = va_arg(args, long);
        wrong += strcmp(text, "text") != 0 || number != 2.5 || last != 17;
#ifndef KEEPS_PCONTROL
        va_end(args);
        return PMPI_Pcontrol(level, text, number, last);
#endif
    } else if (level == 3) {
        long words[7];
        for (int i = 0; i < 7; i++) {
            words[i] = va_arg(args, long);
            wrong += words[i] != i + 1;
        }
#ifndef KEEPS_PCONTROL
        va_end(args);
        return PMPI_Pcontrol(level, words[0], words[1], words[2], words[3], words[4], words[5], words[6]);
#endif
    }
    va_end(args);
#ifdef KEEPS_PCONTROL
    return MPI_SUCCESS;
#else
    return PMPI_Pcontrol(level);
#endif
}

int MPI_Barrier(MPI_Comm c)
{
    calls++;
    return PMPI_Barrier(c);
}

int MPI_Allreduce(const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c)
{
    calls++;
    return PMPI_Allreduce(b, rb, n, t, op, c);
}

int MPI_Sendrecv(const void *b, int n, MPI_Datatype t, int to, int tag, void *rb, int rn, MPI_Datatype rt, int from, int rtag,
                 MPI_Comm c, MPI_Status *s)
{
    calls++;
    return PMPI_Sendrecv(b, n, t, to, tag, rb, rn, rt, from, rtag, c, s);
}

int MPI_Dist_graph_create_adjacent(MPI_Comm c, int in, const int sources[], const int in_weights[], int out, const int to[],
                                   const int out_weights[], MPI_Info info, int reorder, MPI_Comm *graph)
{
    calls++;
    return PMPI_Dist_graph_create_adjacent(c, in, sources, in_weights, out, to, out_weights, info, reorder, graph);
}

int MPI_Ialltoallw(const void *b, const int n[], const int d[], const MPI_Datatype t[], void *rb, const int rn[], const int rd[],
                   const MPI_Datatype rt[], MPI_Comm c, MPI_Request *r)
{
    calls++;
    return PMPI_Ialltoallw(b, n, d, t, rb, rn, rd, rt, c, r);
}

int MPI_Alltoallw(const void *b, const int n[], const int d[], const MPI_Datatype t[], void *rb, const int rn[], const int rd[],
                  const MPI_Datatype rt[], MPI_Comm c)
{
    calls++;
    return PMPI_Alltoallw(b, n, d, t, rb, rn, rd, rt, c);
}

#ifndef NO_FORTRAN
void pmpi_barrier_(F *comm, F *error);
void pmpi_allreduce_(void *b, void *rb, F *n, F *t, F *op, F *comm, F *error);
void pmpi_sendrecv_(void *b, F *n, F *t, F *to, F *tag, void *rb, F *rn, F *rt, F *from, F *rtag, F *comm, F *status, F *error);

void mpi_barrier_(F *comm, F *error)
{
    fortran++;
    pmpi_barrier_(comm, error);
}

void mpi_allreduce_(void *b, void *rb, F *n, F *t, F *op, F *comm, F *error)
{
    fortran++;
    pmpi_allreduce_(b, rb, n, t, op, comm, error);
}

void mpi_sendrecv_(void *b, F *n, F *t, F *to, F *tag, void *rb, F *rn, F *rt, F *from, F *rtag, F *comm, F *status, F *error)
{
    fortran++;
    pmpi_sendrecv_(b, n, t, to, tag, rb, rn, rt, from, rtag, comm, status, error);
}
#endif

int MPI_Finalize(void)
{
    printf("tool guard_page_pmpi: calls=%d fortran=%d wrong=%d\n", calls, fortran, wrong);
    fflush(stdout);
    return PMPI_Finalize();
}

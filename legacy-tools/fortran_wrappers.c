//# lang: c
//# bridged-stdout: tool fortran_wrappers: ok calls=4 fortran=4 c=0 in_place=1
//# mpi: both
//# cflags: -fcommon -Wl,-z,lazy
//# program: fortran_mpifh.f90 fortran_use_mpi.f90
/* fortran_wrappers: wraps MPI's Fortran names (mpi_send_) as well as the C ones.
 *
 * Hazard: the wrappers go down with pmpi_send_, which lives in MPI's Fortran library: absent in a C program, where
 * the tool must load all the same. MPI_IN_PLACE and MPI_STATUS_IGNORE are *addresses* of common blocks in Fortran:
 * the tool defines the blocks, as many do, and must see the program's addresses. `fortran` and `c` count calls of
 * the two kinds of wrapper, `in_place` the Fortran calls with MPI_IN_PLACE. MPICH's pmpi_send_ calls MPI_Send in C,
 * so that under LD_PRELOAD both kinds see the call; Open MPI's calls PMPI_Send.
 *
 * Build: mpicc -shared -fPIC -O2 -fcommon -Wl,-z,lazy fortran_wrappers.c -o fortran_wrappers.so */
#include "verdict.h"
#include <mpi.h>

typedef MPI_Fint F;

#ifdef OPEN_MPI
F mpi_fortran_in_place_; /* a common block of one integer */
#define IN_PLACE ((void *)&mpi_fortran_in_place_)
#else
struct { F bottom, in_place, status_ignore[sizeof(MPI_Status) / sizeof(F)]; } mpipriv1_;
#define IN_PLACE ((void *)&mpipriv1_.in_place)
#endif

void pmpi_send_(void *b, F *n, F *t, F *to, F *tag, F *c, F *error);
void pmpi_recv_(void *b, F *n, F *t, F *from, F *tag, F *c, F *status, F *error);
void pmpi_allreduce_(void *b, void *rb, F *n, F *t, F *op, F *c, F *error);
void pmpi_finalize_(F *error);
void mpi_send_(void *b, F *n, F *t, F *to, F *tag, F *c, F *error);
void mpi_recv_(void *b, F *n, F *t, F *from, F *tag, F *c, F *status, F *error);
void mpi_allreduce_(void *b, void *rb, F *n, F *t, F *op, F *c, F *error);
void mpi_finalize_(F *error);

static int fortran, c_calls, in_place, reported;

static void report(void)
{
    int rank = -1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!reported++)
        verdict_with("fortran_wrappers", rank, "fortran=%d c=%d in_place=%d", fortran, c_calls, in_place);
}

void mpi_send_(void *b, F *n, F *t, F *to, F *tag, F *c, F *error)
{
    count_call(), fortran++;
    pmpi_send_(b, n, t, to, tag, c, error);
}

void mpi_recv_(void *b, F *n, F *t, F *from, F *tag, F *c, F *status, F *error)
{
    count_call(), fortran++;
    pmpi_recv_(b, n, t, from, tag, c, status, error);
}

void mpi_allreduce_(void *b, void *rb, F *n, F *t, F *op, F *c, F *error)
{
    count_call(), fortran++;
    in_place += b == IN_PLACE;
    pmpi_allreduce_(b, rb, n, t, op, c, error);
}

void mpi_finalize_(F *error)
{
    report();
    pmpi_finalize_(error);
}

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    count_call(), c_calls++;
    return PMPI_Send(b, n, t, to, tag, c);
}

int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
    count_call(), c_calls++;
    return PMPI_Recv(b, n, t, from, tag, c, s);
}

int MPI_Allreduce(const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c)
{
    count_call(), c_calls++;
    return PMPI_Allreduce(b, rb, n, t, op, c);
}

int MPI_Finalize(void)
{
    report();
    return PMPI_Finalize();
}

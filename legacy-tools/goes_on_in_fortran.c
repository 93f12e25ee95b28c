//# lang: fortran
//# mpi: openmpi
//# program: ring.c
//# expect-stdout: tool goes_on_in_fortran: ok calls=7
/* goes_on_in_fortran: its C wrappers go on with pmpi_send_, in Fortran, as tools do whose next step is written in Fortran.
 *
 * Hazard: MPI's Fortran library comes into the process with the tool. Its calls of C belong below the tool, and not where the
 * program's calls begin: the tool would be called again, and again. On MPICH that is what LD_PRELOAD does.
 *
 * Build: mpifort -shared -fPIC -O2 goes_on_in_fortran.c -o goes_on_in_fortran.so */
#include "verdict.h"
#include <mpi.h>

typedef MPI_Fint F;

void pmpi_send_(const void *b, F *n, F *t, F *to, F *tag, F *c, F *error);
void pmpi_bcast_(void *b, F *n, F *t, F *root, F *c, F *error);
void pmpi_barrier_(F *c, F *error);
void pmpi_comm_rank_(F *c, F *rank, F *error);

static int depth;

static void begin(void)
{
    count_call();
    if (depth++)
        fail("called by itself");
}

static int end(F error)
{
    depth--;
    return error;
}

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    F count = n, type = MPI_Type_c2f(t), rank = to, number = tag, comm = MPI_Comm_c2f(c), error = -1;
    begin();
    if (depth > 1)
        return PMPI_Send(b, n, t, to, tag, c);
    pmpi_send_(b, &count, &type, &rank, &number, &comm, &error);
    return end(error);
}

int MPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c)
{
    F count = n, type = MPI_Type_c2f(t), rank = root, comm = MPI_Comm_c2f(c), error = -1;
    begin();
    if (depth > 1)
        return PMPI_Bcast(b, n, t, root, c);
    pmpi_bcast_(b, &count, &type, &rank, &comm, &error);
    return end(error);
}

int MPI_Barrier(MPI_Comm c)
{
    F comm = MPI_Comm_c2f(c), error = -1;
    begin();
    if (depth > 1)
        return PMPI_Barrier(c);
    pmpi_barrier_(&comm, &error);
    return end(error);
}

int MPI_Comm_rank(MPI_Comm c, int *rank)
{
    F comm = MPI_Comm_c2f(c), result = -1, error = -1;
    begin();
    if (depth > 1)
        return PMPI_Comm_rank(c, rank);
    pmpi_comm_rank_(&comm, &result, &error);
    *rank = result;
    return end(error);
}

int MPI_Finalize(void)
{
    int rank = -1;
    count_call();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict("goes_on_in_fortran", rank, "");
    return PMPI_Finalize();
}

//# role: companion
//# lang: c
//# mpi: both
/* A PMPI tool whose constructor and destructor call MPI by the names that programs use, as TAU's do. */
#include <mpi.h>

static int calls;

__attribute__((constructor)) static void before(void)
{
    int flag;
    MPI_Initialized(&flag);
    MPI_Initialized(&flag);
}

__attribute__((destructor)) static void after(void)
{
    int flag;
    MPI_Finalized(&flag);
}

int MPI_Initialized(int *flag)
{
    calls++;
    return PMPI_Initialized(flag);
}

int MPI_Bcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    calls++;
    return PMPI_Bcast(buf, count, type, root, comm);
}

//# role: companion
//# lang: c
//# mpi: both
//# libs: -ldl
/* A tool that looks up what it goes on with in a constructor, by both names that a function has. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>

static int (*barrier)(MPI_Comm);
static int (*bcast)(void *, int, MPI_Datatype, int, MPI_Comm);

__attribute__((constructor)) static void look_up(void)
{
    barrier = (int (*)(MPI_Comm))dlsym(RTLD_NEXT, "MPI_Barrier");
    bcast = (int (*)(void *, int, MPI_Datatype, int, MPI_Comm))dlsym(RTLD_NEXT, "PMPI_Bcast");
}

int MPI_Barrier(MPI_Comm comm)
{
#ifdef DROPPED
    return MPI_SUCCESS;
#endif
    return barrier(comm);
}

int MPI_Bcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    return bcast(buf, count, type, root, comm);
}

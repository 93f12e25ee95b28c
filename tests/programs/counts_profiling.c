//# role: companion
//# lang: c
//# mpi: both
//# libs: -ldl
/* counts_profiling: defines functions under their PMPI names, and counts calls of them:
 *
 *     counts_profiling: 33 calls
 *
 * MPICH's I/O functions make such calls; under LD_PRELOAD the tool gets them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static int calls;

int PMPI_Allreduce(const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c)
{
    int (*next)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm) =
        (int (*)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm)) dlsym(RTLD_NEXT, "PMPI_Allreduce");
    calls++;
    return next(b, rb, n, t, op, c);
}

int PMPI_Type_size_x(MPI_Datatype t, MPI_Count *size)
{
    int (*next)(MPI_Datatype, MPI_Count *) = (int (*)(MPI_Datatype, MPI_Count *)) dlsym(RTLD_NEXT, "PMPI_Type_size_x");
    calls++;
    return next(t, size);
}

int MPI_Finalize(void)
{
    printf("counts_profiling: %d calls\n", calls);
    return PMPI_Finalize();
}

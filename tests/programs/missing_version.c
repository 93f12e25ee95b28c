//# role: companion
//# lang: c
//# mpi: both
//# cflags: -Wl,--no-as-needed -fno-builtin
//# links: part_with_versions.c
//# libs: -lm
/* missing_version: a PMPI tool with functions of two libraries that have symbol versions, libm and part_with_versions.so. The
 * test takes the libraries out of its DT_NEEDED entries, as repackaging does: the versions' entries still name them. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>

int part_with_versions(int value);
static volatile double half = 0.5;

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    printf("missing_version: %d %.3f\n", part_with_versions(1), pow(half, half));
    return PMPI_Comm_size(comm, size);
}

//# role: companion
// A tool that says which gnu_get_libc_version it gets.
#include <gnu/libc-version.h>
#include <mpi.h>
#include <stdio.h>

int MPI_Finalize(void) {
    printf("version: %s\n", gnu_get_libc_version());
    return PMPI_Finalize();
}

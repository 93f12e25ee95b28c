//# role: companion
//# lang: c
//# cflags: -Wl,-soname,libcounting_api.so.1
/* counting_api: counts barriers, and has a function by which others ask for their number. */
#include <mpi.h>

static int barriers;

int counting_api_barriers(void)
{
    return barriers;
}

int MPI_Barrier(MPI_Comm comm)
{
    barriers++;
    return PMPI_Barrier(comm);
}

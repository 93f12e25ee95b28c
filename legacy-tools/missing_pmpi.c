//# lang: c
//# mpi: both
//# cflags: -Wl,-z,lazy
//# program: ring.c
//# expect-stdout: tool missing_pmpi: ok calls=2
/* missing_pmpi: refers to a PMPI function that this MPI does not have.
 *
 * Hazard: tools are built for more functions than one MPI has (removed ones, vendor extensions). Bound lazily they
 * load, and the missing function is an error only when it is called. MISSING_CALL=1 calls it: then the process
 * must end with a message that names the function, and not go on.
 *
 * Build: mpicc -shared -fPIC -O2 -Wl,-z,lazy missing_pmpi.c -o missing_pmpi.so */
#include "verdict.h"
#include <mpi.h>
#include <stdlib.h>

int PMPIX_Qmpi_no_such_function(int n);
int MPIX_Qmpi_no_such_function(int n);

int MPIX_Qmpi_no_such_function(int n) { return PMPIX_Qmpi_no_such_function(n); }

int MPI_Barrier(MPI_Comm c)
{
    const char *call = getenv("MISSING_CALL");
    count_call();
    if (call && *call == '1' && PMPIX_Qmpi_no_such_function(1) == 0)
        fail("a function that does not exist was called");
    return PMPI_Barrier(c);
}

int MPI_Finalize(void)
{
    int rank = -1;
    count_call();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict("missing_pmpi", rank, "");
    return PMPI_Finalize();
}

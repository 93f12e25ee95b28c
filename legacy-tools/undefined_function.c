//# lang: c
//# mpi: both
//# cflags: -Wl,-z,lazy
//# program: ring.c
//# expect-stdout: tool undefined_function: ok calls=2
/* undefined_function: refers to a function outside MPI that no library defines.
 *
 * Hazard: preloaded, such a tool loads, because functions are bound at their first call. RTLD_NOW refuses it.
 * UNDEFINED_CALL=1 calls the function: the process ends with the dynamic linker's "undefined symbol".
 *
 * Build: mpicc -shared -fPIC -O2 -Wl,-z,lazy undefined_function.c -o undefined_function.so */
#include "verdict.h"
#include <mpi.h>
#include <stdlib.h>

int absent_helper_function(int n);

int MPI_Barrier(MPI_Comm c)
{
    const char *call = getenv("UNDEFINED_CALL");
    count_call();
    if (call && *call == '1' && absent_helper_function(1) == 0)
        fail("a function that does not exist was called");
    return PMPI_Barrier(c);
}

int MPI_Finalize(void)
{
    int rank = -1;
    count_call();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict("undefined_function", rank, "");
    return PMPI_Finalize();
}

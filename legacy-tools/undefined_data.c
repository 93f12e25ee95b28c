//# lang: c
//# mpi: both
//# program: ring.c
//# loads: no
//# expect-stderr: undefined symbol: absent_data_symbol
/* undefined_data: refers to a variable that no library defines.
 *
 * Hazard: data cannot be bound lazily, so this tool cannot be loaded in any way. What is wanted is an error that
 * names the tool and the symbol. The dynamic linker says `undefined symbol: absent_data_symbol`, with status 127.
 *
 * Build: mpicc -shared -fPIC -O2 undefined_data.c -o undefined_data.so */
#include "verdict.h"
#include <mpi.h>

extern int absent_data_symbol;

int MPI_Finalize(void)
{
    int rank = -1;
    count_call();
    if (absent_data_symbol)
        fail("a variable that does not exist has a value");
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict("undefined_data", rank, "");
    return PMPI_Finalize();
}

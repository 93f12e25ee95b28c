//# lang: c
//# mpi: both
//# cflags: -Wl,--version-script=../legacy-tools/versioned_wrappers.map
//# program: ring.c
//# expect-stdout: tool versioned_wrappers: ok calls=3 v1=3 v2=0
/* versioned_wrappers: two versions of a wrapper, MPI_Send@TOOL_1 and MPI_Send@@TOOL_2, as a vendor has that changed what a
 * wrapper does and keeps the old one for programs that were linked before.
 *
 * Hazard: ld.so binds a reference to the version that it asks for. One that asks for none gets the first version; dlsym gets the
 * default one (glibc: elf/dl-lookup.c: check_match).
 *
 * Build: mpicc -shared -fPIC -O2 -Wl,--version-script=versioned_wrappers.map versioned_wrappers.c -o versioned_wrappers.so */
#include "verdict.h"
#include <mpi.h>

static int v1, v2;

__attribute__((symver("MPI_Send@TOOL_1")))
int send_v1(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    count_call(), v1++;
    return PMPI_Send(b, n, t, to, tag, c);
}

__attribute__((symver("MPI_Send@@TOOL_2")))
int send_v2(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    count_call(), v2++;
    return PMPI_Send(b, n, t, to, tag, c);
}

int MPI_Finalize(void)
{
    int rank = -1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict_with("versioned_wrappers", rank, "v1=%d v2=%d", v1, v2);
    fflush(stdout);
    return PMPI_Finalize();
}

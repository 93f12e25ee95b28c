//# lang: c
//# mpi: both
//# program: pcontrol.c
//# expect-stdout: tool pcontrol_passes: ok calls=3 levels=0,1,2
/* pcontrol_passes: has an MPI_Pcontrol of its own and passes it on with PMPI_Pcontrol.
 *
 * Hazard: a stack that hands MPI_Pcontrol to every tool by itself would call the tools below this one twice. Level 2
 * means `MPI_Pcontrol(2, const char *, double, int)`, as tests/programs/pcontrol.c calls it: C has no way to
 * pass on arguments that one does not know.
 *
 * Build: mpicc -shared -fPIC -O2 pcontrol_passes.c -o pcontrol_passes.so */
#include "verdict.h"
#include <mpi.h>
#include <string.h>

static char levels[100];

int MPI_Pcontrol(const int level, ...)
{
    size_t length = strlen(levels);
    count_call();
    snprintf(levels + length, sizeof levels - length, "%s%d", length ? "," : "", level);
    if (level != 2)
        return PMPI_Pcontrol(level);
    va_list args;
    va_start(args, level);
    const char *text = va_arg(args, const char *);
    double number = va_arg(args, double);
    int last = va_arg(args, int);
    va_end(args);
    return PMPI_Pcontrol(level, text, number, last);
}

int MPI_Finalize(void)
{
    int rank = -1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict_with("pcontrol_passes", rank, "levels=%s", levels);
    return PMPI_Finalize();
}

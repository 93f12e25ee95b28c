//# lang: c
//# mpi: both
//# program: pcontrol.c
//# expect-stdout: tool pcontrol: ok calls=3 levels=0,1,2 extra=text,2.5,17
/* pcontrol: has an MPI_Pcontrol of its own and does not pass it on, as most tools.
 *
 * Hazard: in a stack every tool should hear of MPI_Pcontrol, though none of them calls the next one. And the
 * function is variadic: pointers, doubles (in vector registers, counted in al) and integers must arrive. Level 2
 * means `MPI_Pcontrol(2, const char *, double, int)`, as tests/programs/pcontrol.c calls it.
 *
 * Build: mpicc -shared -fPIC -O2 pcontrol.c -o pcontrol.so */
#include "verdict.h"
#include <mpi.h>
#include <string.h>

static char levels[100], extra[100];

int MPI_Pcontrol(const int level, ...)
{
    size_t length = strlen(levels);
    count_call();
    snprintf(levels + length, sizeof levels - length, "%s%d", length ? "," : "", level);
    if (level == 2) {
        va_list args;
        va_start(args, level);
        const char *text = va_arg(args, const char *);
        double number = va_arg(args, double);
        snprintf(extra, sizeof extra, " extra=%s,%g,%d", text, number, va_arg(args, int));
        va_end(args);
    }
    return MPI_SUCCESS;
}

int MPI_Finalize(void)
{
    int rank = -1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict_with("pcontrol", rank, "levels=%s%s", levels, extra);
    return PMPI_Finalize();
}

//# role: companion
//# lang: c
//# mpi: both
//# libs: -ldl
/* pcontrol_trace: a tool that appends `LABEL LEVEL` to a file for each MPI_Pcontrol on rank 0.
 *
 *     PCONTROL_LABEL=a      the label
 *     PCONTROL_FILE=x.txt   where to
 *
 * It does not pass the call on, as most tools. Built with -DPASSES it calls PMPI_Pcontrol, with -DPASSES_NEXT what
 * dlsym(RTLD_NEXT) finds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int MPI_Pcontrol(const int level, ...)
{
    const char *label = getenv("PCONTROL_LABEL"), *file = getenv("PCONTROL_FILE");
    char line[80];
    int rank = -1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int out = rank == 0 && file ? open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (out >= 0) {
        int length = snprintf(line, sizeof line, "%s %d\n", label ? label : "?", level);
        if (write(out, line, length) != length)
            abort();
        close(out);
    }
#if defined PASSES
    return PMPI_Pcontrol(level);
#elif defined PASSES_NEXT
    int (*next)(int, ...) = (int (*)(int, ...))dlsym(RTLD_NEXT, "MPI_Pcontrol");
    return next(level);
#else
    return MPI_SUCCESS;
#endif
}

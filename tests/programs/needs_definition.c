//# role: companion
//# lang: c
//# mpi: both
//# cflags: -Wl,-z,lazy
/* needs_definition: a tool that calls functions which only a library defines that the program opens later, as it may where it is bound
 * lazily. One takes floating-point arguments: whatever stands between must keep all of them. */
#include <mpi.h>

int opened_part(void);
double opened_sum(double a, double b, int c, int d, int e, int f, int g, int h, double i);

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    int result = PMPI_Comm_size(comm, size);
    *size += 100 * opened_part();
    *size += (int)opened_sum(0.5, 1.5, 10, 20, 30, 40, 50, 60, 2.0);
    return result;
}

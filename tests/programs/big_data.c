//# role: companion
//# lang: c
//# mpi: both
/* big_data: 400 kB of initialized variables, so that a file that is cut off in the middle still has all of its tables. */
#include <mpi.h>

volatile int numbers[100000] = { 1, 2, 3, [99999] = 7 };

int MPI_Init(int *argc, char ***argv)
{
    numbers[0] = numbers[99999];
    return PMPI_Init(argc, argv);
}

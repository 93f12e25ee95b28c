//# role: companion
//# lang: c
//# mpi: both
//# links: shares_part.c
//# cflags: -Wl,-rpath,$ORIGIN
/* shares_part_tool: takes the second number of the library's variable, if it is the program's. */
#include <mpi.h>
#include <stdio.h>

int shares_part_next(void);

int MPI_Init(int *argc, char ***argv)
{
    int result = PMPI_Init(argc, argv);
    printf("shares_part_tool: %d\n", shares_part_next());
    return result;
}

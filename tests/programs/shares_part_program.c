//# role: companion
//# lang: c
//# mpi: both
//# links: shares_part.c
//# cflags: -Wl,-rpath,$ORIGIN
/* shares_part_program: takes the first number of the library's variable. */
#include <mpi.h>
#include <stdio.h>

int shares_part_next(void);

int main(int argc, char **argv)
{
    printf("shares_part_program: %d\n", shares_part_next());
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    return 0;
}

//# lang: c
//# mpi: both
//# needs-mpi: no
//# ranks: 1
//# expect-stdout: no_mpi: here
/* A program without MPI, such as the shells and launchers that inherit LD_PRELOAD. Nothing must change for it. */
#include <stdio.h>

int main(void)
{
    puts("no_mpi: here");
    return 0;
}

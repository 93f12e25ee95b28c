//# lang: c
//# mpi: both
//# needs-mpi: no
//# ranks: 1
//# expect-stdout: no_mpi: here
/* A program without MPI, such as the shells and launchers that inherit LD_PRELOAD. Nothing must change for it. */
#include <stdio.h>

int main(void)
{
    fputs("no_mpi: here\n", stdout);
    return 0;
}

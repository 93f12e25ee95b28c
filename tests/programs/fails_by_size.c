//# lang: c
//# mpi: both
//# ranks: 1
//# expect-stdout: fails_by_size: done
/* Says how many layers have added 1,000,000 to the size of MPI_COMM_WORLD (adds_to_size.c). Of one rank: with one it is right, with two
 * it ends with status 3, with three by SIGABRT, and with four it does not end. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    fprintf(stderr, "fails_by_size: %d layers have added to the size\n", size / 1000000);
    switch (size / 1000000) {
    case 2: MPI_Finalize(); return 3;
    case 3: abort();
    case 4:
        for (;;)
            pause();
    }
    fputs("fails_by_size: done\n", stdout);
    return MPI_Finalize();
}

//# lang: c
//# mpi: both
//# ranks: 2
//# args: . 0
//# expect-stdout: phases: done
/* So many phases as the second argument says: each rank says in a file of the first argument's directory that it is ready, waits for
 * another file, and calls MPI a hundred times. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size;
    char name[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int phase = 0; argc > 2 && phase < atoi(argv[2]); phase++) {
        snprintf(name, sizeof name, "%s/ready.%d.%d", argv[1], phase, rank);
        FILE *file = fopen(name, "w");
        fprintf(file, "%d\n", (int)getpid());
        fclose(file);
        snprintf(name, sizeof name, "%s/go.%d", argv[1], phase);
        while (access(name, F_OK))
            usleep(1000);
        for (int i = 0; i < 100; i++) {
            int in = -1;
            MPI_Sendrecv(&i, 1, MPI_INT, rank, 1, &in, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        fputs("phases: done\n", stdout);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

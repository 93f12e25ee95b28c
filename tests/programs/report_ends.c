//# role: companion
//# lang: c
//# mpi: both
/* Calls MPI_Comm_size 500 times on each rank, and MPI_Barrier; then ends as its argument says. Rank 1 does what the argument names:
 *
 *     abort     MPI_Abort, while the others wait for it
 *     late      is killed after MPI_Finalize
 *     kill      is killed, when the others have called exit() without MPI_Finalize
 *     _exit     ends by _exit() without MPI_Finalize, and so on
 *     fork      calls MPI_Wtime three times, its child ten times; is killed
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 500; i++)
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(how, "abort") == 0) {
        if (rank == 1)
            MPI_Abort(MPI_COMM_WORLD, 7);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (strcmp(how, "fork") == 0) {
        if (rank == 1) {
            for (int i = 0; i < 3; i++)
                MPI_Wtime();
            pid_t child = fork();
            for (int i = 0; child == 0 && i < 10; i++)
                MPI_Wtime();
            if (child == 0)
                _exit(0);
            waitpid(child, NULL, 0);
            raise(SIGKILL);
        }
        sleep(2);
        exit(0);
    }
    if (strcmp(how, "kill") == 0 || strcmp(how, "_exit") == 0) {
        if (rank != 1)
            exit(0);
        sleep(2);
        if (strcmp(how, "kill") == 0)
            raise(SIGKILL);
        _exit(0);
    }
    MPI_Finalize();
    if (strcmp(how, "late") == 0 && rank == 1)
        raise(SIGKILL);
    return 0;
}

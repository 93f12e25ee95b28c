//# role: companion
//# lang: c
//# mpi: both
/* A rank that says who it is behind MPI_Init, for tests of MPIR. With `abort`, rank 1 calls MPI_Abort; with `wait`, all wait for
   half a minute in MPI's own barrier, but for rank 0, which sleeps; with `told`, rank 1 calls MPI_Abort when it gets SIGUSR1; with
   `early`, all end before MPI_Init. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int rank, signal_number;
    sigset_t told;
    sigemptyset(&told);
    sigaddset(&told, SIGUSR1);
    sigprocmask(SIG_BLOCK, &told, NULL);
    if (!strcmp(what, "early"))
        return 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("rank %d pid %d\n", rank, (int)getpid());
    fflush(stdout);
    if (!strcmp(what, "abort") && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (!strcmp(what, "told") && rank == 1 && !sigwait(&told, &signal_number))
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (!strcmp(what, "wait") && rank == 0)
        sleep(30);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

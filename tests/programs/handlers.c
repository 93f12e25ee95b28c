//# role: companion
//# lang: c
//# mpi: both
/* handlers: a program whose handler of SIGUSR1 calls MPI. Outside of MPI it raises that signal five times, and SIGUSR2, which tools handle
 * (calls_in_handler.c), as often. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>

static volatile sig_atomic_t handled;

static void on_signal(int signal)
{
    int size = 0;
    (void)signal;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    handled += size;
}

int main(int argc, char **argv)
{
    struct sigaction action = { .sa_handler = on_signal };
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = SIG_IGN;
    sigaction(SIGUSR2, &action, NULL);
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 5; i++) {
        raise(SIGUSR1);
        raise(SIGUSR2);
    }
    MPI_Finalize();
    printf("handlers: %d\n", (int)handled);
    return 0;
}

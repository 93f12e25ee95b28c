//# role: companion
//# lang: c
//# mpi: both
//# libs: -ldl
/* calls_in_handler: a tool whose handler of SIGUSR2 calls MPI_Comm_rank by its PMPI name, by what comes next, and by its MPI name, and then the
 * handler that was there before. At the end it says how often its handler ran, and which calls its wrappers saw; those that its own handler
 * made stand apart, as `own`:
 *
 *     tool calls_in_handler LABEL: handled 5, size 5, rank 0, own 5 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static struct sigaction before;
static int handled, sizes, ranks, own, asks;

static void on_signal(int signal, siginfo_t *info, void *context)
{
    int rank = -1, again = -1, mine = -1;
    int (*next)(MPI_Comm, int *) = (int (*)(MPI_Comm, int *))dlsym(RTLD_NEXT, "MPI_Comm_rank");
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    next(MPI_COMM_WORLD, &again);
    asks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &mine);
    asks = 0;
    handled += rank == 0 && again == 0 && mine == 0;
    if (before.sa_flags & SA_SIGINFO && before.sa_sigaction)
        before.sa_sigaction(signal, info, context);
}

int MPI_Init(int *argc, char ***argv)
{
    struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };
    int result = PMPI_Init(argc, argv);
    sigaction(SIGUSR2, &action, &before);
    return result;
}

int MPI_Comm_size(MPI_Comm c, int *size)
{
    sizes++;
    return PMPI_Comm_size(c, size);
}

int MPI_Comm_rank(MPI_Comm c, int *rank)
{
    own += asks;
    ranks += !asks;
    return PMPI_Comm_rank(c, rank);
}

int MPI_Finalize(void)
{
    const char *label = getenv("CALLS_IN_HANDLER");
    printf("tool calls_in_handler %s: handled %d, size %d, rank %d, own %d\n", label ? label : "alone", handled, sizes, ranks,
           own);
    return PMPI_Finalize();
}

//# role: companion
//# lang: c
//# mpi: both
//# libs: -lpthread
/* thread_of_tool: a PMPI tool whose constructor starts a thread that lives as long as the process. */
#include <mpi.h>
#include <pthread.h>
#include <unistd.h>

static void *wait_for_ever(void *unused)
{
    for (;;)
        pause();
    return unused;
}

__attribute__((constructor)) static void start(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_for_ever, NULL) == 0)
        pthread_detach(thread);
}

int MPI_Barrier(MPI_Comm c)
{
    return PMPI_Barrier(c);
}

//# role: companion
//# lang: c
//# mpi: both
//# cflags: -Wl,-z,now
//# libs: -lpthread
/* A library whose constructor calls MPI, for start_race.c: once another thread had the time to begin its own first call. */
#include <mpi.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

extern sem_t start_race_in_constructor;
extern int start_race_posts;

__attribute__((constructor)) static void early(void)
{
    int is = -1;
    if (start_race_posts) {
        sem_post(&start_race_in_constructor);
        usleep(300 * 1000);
    }
    if (MPI_Initialized(&is) != MPI_SUCCESS || is)
        abort();
}

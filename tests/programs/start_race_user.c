//# role: companion
//# lang: c
//# mpi: both
//# cflags: -Wl,-z,now
/* The part of start_race.c that uses MPI. Its constructor calls MPI where the program wants that (START_RACE_EARLY). */
#include <mpi.h>
#include <stdlib.h>

int start_race_call(void);
int start_race_call(void)
{
    int is = -1;
    return MPI_Initialized(&is) == MPI_SUCCESS && is == 0 ? 0 : 1;
}

int start_race_run(void);
int start_race_run(void)
{
    int size = 0;
    MPI_Init(NULL, NULL);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Finalize();
    return size == 1 ? 0 : 1;
}

__attribute__((constructor)) static void early(void)
{
    if (getenv("START_RACE_EARLY"))
        start_race_call();
}

//# role: companion
//# lang: c
//# mpi: both
/* report_spins: a tool that spends a known time in each of its wrappers: 1 us in MPI_Comm_rank, 10 us in MPI_Comm_size, 1 ms in MPI_Barrier, which
 * also calls MPI_Comm_size ten times. At MPI_Finalize rank 0 prints how long it spun: `spun FUNCTION NANOSECONDS CALLS`. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static struct {
    long long nanoseconds, calls;
} spun[3];

static long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void spin(int which, long long nanoseconds)
{
    long long begin = now(), end;
    while ((end = now()) - begin < nanoseconds)
        ;
    spun[which].nanoseconds += end - begin;
    spun[which].calls++;
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    spin(0, 1000);
    return PMPI_Comm_rank(comm, rank);
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    spin(1, 10000);
    return PMPI_Comm_size(comm, size);
}

int MPI_Barrier(MPI_Comm comm)
{
    int size;
    spin(2, 1000000);
    for (int i = 0; i < 10; i++)
        PMPI_Comm_size(comm, &size);
    return PMPI_Barrier(comm);
}

int MPI_Finalize(void)
{
    static const char *const names[] = { "MPI_Comm_rank", "MPI_Comm_size", "MPI_Barrier" };
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; rank == 0 && i < 3; i++)
        printf("spun %s %lld %lld\n", names[i], spun[i].nanoseconds, spun[i].calls);
    fflush(stdout);
    return PMPI_Finalize();
}

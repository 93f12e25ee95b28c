//# role: companion
//# lang: c
//# mpi: both
//# cflags: -ftls-model=initial-exec
/* big_tls: 1,000 bytes of thread-local storage at a fixed distance from the thread pointer: a few copies of it do not fit
 * into what the dynamic linker keeps spare. Rank 0 prints `big_tls: ok`. */
#include <mpi.h>
#include <stdio.h>

static __thread int numbers[250] = { 1, 2, 3 };

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    for (int i = 3; i < 250; i++)
        numbers[i] += 1;
    return PMPI_Send(b, n, t, to, tag, c);
}

int MPI_Finalize(void)
{
    int rank = -1, sends = numbers[3];
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 3; i < 250; i++)
        sends = numbers[i] == sends ? sends : -1;
    if (rank == 0)
        fputs(numbers[0] == 1 && numbers[2] == 3 && sends >= 0 ? "big_tls: ok\n" : "big_tls: FAILED\n", stdout);
    return PMPI_Finalize();
}

//# lang: c
//# mpi: both
//# cflags: -rdynamic -fno-optimize-sibling-calls
//# ranks: 2
//# expect-stdout: frames: received 7 and 8
/* Calls MPI_Send from a known place: main > app_outer > app_inner. For tools that walk the stack or look up call
 * sites; -rdynamic lets dladdr name the functions. Rank 0 sends once from app_inner, then rank 1 replies. */
#include <mpi.h>
#include <stdio.h>

void app_inner(int value, int to);
void app_outer(int value, int to);

__attribute__((noinline)) void app_inner(int value, int to)
{
    MPI_Send(&value, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
    __asm__ volatile(""); /* work after the call: it is none that could become a jump */
}

__attribute__((noinline)) void app_outer(int value, int to)
{
    app_inner(value + 1, to);
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    int rank, first = 0, second = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        app_outer(6, 1);
        MPI_Recv(&first, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&second, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("frames: received %d and %d\n", first, second);
    } else if (rank == 1) {
        MPI_Recv(&first, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        app_outer(first - 1, 0);
        app_outer(first, 0);
    }
    MPI_Finalize();
    return 0;
}

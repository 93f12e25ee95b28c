//# lang: c
//# mpi: both
//# ranks: 2
//# expect-stdout: sum 6, least 3
//# expect-stdout: done
/* Calls whose wrappers in tools call MPI for themselves (legacy-tools/own_calls.c), at several depths of the stack. */
#include <mpi.h>
#include <stdio.h>

static int rank, size;

/* An operation that calls MPI. */
static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    int bytes;
    MPI_Type_size(*type, &bytes);
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

__attribute__((noinline)) static void exchange(int depth)
{
    volatile char room[3000];
    int mine = depth, theirs = -1;
    room[depth] = 1;
    if (rank == 0) {
        MPI_Send(&mine, 1, MPI_INT, 1, depth, MPI_COMM_WORLD);
        MPI_Recv(&theirs, 1, MPI_INT, 1, depth, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&theirs, 1, MPI_INT, 0, depth, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&mine, 1, MPI_INT, 0, depth, MPI_COMM_WORLD);
    }
    if (theirs != depth)
        printf("%d instead of %d\n", theirs, depth);
    if (depth < 4)
        exchange(depth + 1);
    room[depth + 1] = 1;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    exchange(0);

    int data = rank == 0 ? 7 : 0, one = 3, sum = 0, least = 0, in_place = rank + 3;
    MPI_Bcast(&data, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    MPI_Allreduce(&in_place, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);

    MPI_Comm dup;
    int neighbour = -1;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_set_name(dup, "dup");
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 2, &neighbour, 1, MPI_INT, (rank + size - 1) % size, 2, dup,
                 MPI_STATUS_IGNORE);
    MPI_Comm_free(&dup);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && (data != 7 || neighbour != size - 1))
        printf("data %d, neighbour %d\n", data, neighbour);
    if (rank == 0) {
        printf("sum %d, least %d\n", sum, least);
        fputs("done\n", stdout);
    }
    MPI_Finalize();
    return 0;
}

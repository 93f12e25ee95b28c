//# lang: c
//# mpi: both
//# cflags: -rdynamic
//# ranks: 2
//# expect-stdout: callback_inside: done
/* A program whose attribute calls MPI when it is copied and deleted: beneath a tool that duplicates communicators in
 * MPI_Send (dups_inside.c), calls nest. */
#include <mpi.h>
#include <stdio.h>

int copied(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag);
int deleted(MPI_Comm comm, int keyval, void *value, void *extra);
void outer_send(int rank);
void outer_recv(int rank);

__attribute__((noinline)) int copied(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval, (void)extra;
    MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

__attribute__((noinline)) int deleted(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value, (void)extra;
    MPI_Recv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return MPI_SUCCESS;
}

__attribute__((noinline)) void outer_send(int rank)
{
    MPI_Send(&rank, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);
}

__attribute__((noinline)) void outer_recv(int rank)
{
    MPI_Recv(&rank, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, keyval;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_create_keyval(copied, deleted, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &keyval);
    if (rank == 0)
        outer_send(rank), outer_recv(rank);
    else
        outer_recv(rank), outer_send(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        fputs("callback_inside: done\n", stdout);
    MPI_Comm_free_keyval(&keyval); /* the attribute goes with MPI_Finalize */
    MPI_Finalize();
    return 0;
}

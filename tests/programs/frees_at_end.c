//# lang: c
/* frees_at_end: MPI_Finalize runs a callback of the program that calls MPI, as MPI's own I/O library does. The callback is called once before. */
#include <mpi.h>
#include <stdio.h>

static int keyval, other = MPI_KEYVAL_INVALID;

static int delete(MPI_Comm communicator, int key, void *value, void *extra)
{
    (void)communicator, (void)key, (void)value, (void)extra;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &other, NULL);
    return MPI_Comm_free_keyval(&other);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, NULL);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    MPI_Finalize();
    if (rank == 0)
        fputs(other == MPI_KEYVAL_INVALID ? "done\n" : "a key is left\n", stdout);
    return 0;
}

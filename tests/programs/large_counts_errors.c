//# role: companion
/* Errors of functions with large counts: how often the error handler is called, and the class of each error. */
#include <mpi.h>
#include <stdio.h>

static int calls, seen;

static void handler(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    seen = *code;
    calls++;
}

/* MPICH 4.3 returns MPI_SUCCESS when a handler was called. */
static void report(const char *what, int code) {
    int class;
    MPI_Error_class(calls ? seen : code, &class);
    printf("%s: %s, %d calls of the handler\n", what,
           class == MPI_ERR_COUNT ? "MPI_ERR_COUNT" : class == MPI_ERR_COMM ? "MPI_ERR_COMM" : class == MPI_ERR_RANK ? "MPI_ERR_RANK" : class == MPI_SUCCESS ? "MPI_SUCCESS" : "another class",
           calls);
    calls = 0;
}

int main(int argc, char **argv) {
    MPI_Errhandler mine;
    MPI_Count counts[1] = {1}, negative[1] = {-1};
    MPI_Aint places[1] = {0};
    int in[1] = {3}, out[1] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, mine);
    report("MPI_Send_c, -1", MPI_Send_c(in, -1, MPI_INT, 0, 0, MPI_COMM_SELF));
    report("MPI_Send_c, rank 9", MPI_Send_c(in, 1, MPI_INT, 9, 0, MPI_COMM_SELF));
    report("MPI_Bcast_c, no communicator", MPI_Bcast_c(in, 1, MPI_INT, 0, MPI_COMM_NULL));
    report("MPI_Alltoallv_c", MPI_Alltoallv_c(in, counts, places, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_SELF));
    report("MPI_Alltoallv_c, -1", MPI_Alltoallv_c(in, negative, places, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_SELF));
    report("MPI_Alltoallv_c, no communicator",
           MPI_Alltoallv_c(in, counts, places, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_NULL));
    report("MPI_Gatherv_c, root 5", MPI_Gatherv_c(in, 1, MPI_INT, out, counts, places, MPI_INT, 5, MPI_COMM_SELF));
    printf("received %d\n", out[0]);
    MPI_Errhandler_free(&mine);
    MPI_Finalize();
    return 0;
}

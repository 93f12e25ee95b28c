//# role: companion
//# lang: c
//# mpi: both
/* Two ranks that call functions of many kinds, for the trace. With an argument, rank 1 ends early: `kill` by SIGKILL, `abort` by MPI_Abort,
 * `exit` by _exit when it has called MPI_Finalize. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int rank, other, numbers[8];

static void ends_early(const char *how)
{
    if (rank == 0) {
        MPI_Recv(numbers, 1, MPI_INT, other, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    if (strcmp(how, "kill") == 0) {
        sleep(1);
        raise(SIGKILL);
    }
    MPI_Abort(MPI_COMM_WORLD, 6);
}

int main(int argc, char **argv)
{
    MPI_Comm first, second;
    MPI_Datatype vector, structure;
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Group group;
    MPI_Info info;
    int size, flag, blocks[] = {1, 2}, counts[] = {1, 2}, places[] = {0, 4};
    int count;
    MPI_Aint displacements[] = {0, 8};
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    other = 1 - rank;
    if (argc > 1 && strcmp(argv[1], "exit") != 0)
        ends_early(argv[1]);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_split(first, 0, -rank, &second);
    MPI_Comm_set_name(first, "the \"first\"");
    MPI_Comm_get_name(first, name, &count);
    MPI_Type_vector(2, 1, 3, MPI_DOUBLE, &vector);
    MPI_Type_commit(&vector);
    MPI_Datatype types[] = {MPI_INT, vector};
    MPI_Type_create_struct(2, blocks, displacements, types, &structure);
    MPI_Irecv(numbers, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, first, &requests[0]);
    MPI_Isend(&numbers[1], 1, MPI_INT, other, 7, first, &requests[1]);
    MPI_Wait(&requests[0], &status);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Get_count(&status, MPI_INT, &count);
    for (int i = 0; i < 2; i++)
        MPI_Irecv(&numbers[i], 1, MPI_INT, MPI_PROC_NULL, i, second, &requests[i]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Send_init(numbers, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &requests[0]);
    MPI_Start(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Send(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF);
    MPI_Iprobe(MPI_ANY_SOURCE, 8, second, &flag, &status);
    MPI_Allreduce(MPI_IN_PLACE, numbers, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    counts[0] = counts[1] = 1;
    MPI_Alltoallv(numbers, counts, places, MPI_INT, &numbers[1], counts, places, MPI_INT, second);
    MPI_Send(numbers, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    MPI_Comm_group(first, &group);
    MPI_Group_free(&group);
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    MPI_Info_free(&info);
    MPI_Type_free(&vector);
    MPI_Type_free(&structure);
    MPI_Comm_free(&first);
    MPI_Comm_free(&second);
    MPI_Comm_dup(MPI_COMM_SELF, &first);
    MPI_Comm_free(&first);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        fputs("done\n", stdout);
    fflush(stdout);
    MPI_Finalize();
    if (argc > 1 && strcmp(argv[1], "exit") == 0 && rank == 1)
        _exit(0);
    return 0;
}

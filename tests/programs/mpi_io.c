//# lang: c
//# mpi: both
//# ranks: 3
//# expect-stdout: mpi_io: size 12288
//# expect-stdout: mpi_io: done
/* mpi_io: a file written and read back by all ranks together: each its block, then interleaved through a view.
 *
 * Open MPI does it with OMPIO, MPICH with ROMIO; both call MPI functions of their own on the way, which no tool sees. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 512 }; /* integers of each rank, twice */

int main(int argc, char **argv)
{
    int rank, ranks, wrong = 0, all_wrong = 0, mine[COUNT], theirs[COUNT];
    char name[1024] = "";
    MPI_File file;
    MPI_Status status;
    MPI_Offset size = -1;
    MPI_Datatype column;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0) {
        const char *directory = getenv("TMPDIR");
        snprintf(name, sizeof name, "%s/mpi_io.%d", directory ? directory : "/tmp", (int)getpid());
    }
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);

    /* A block each, read by the neighbour. */
    int next = (rank + 1) % ranks, count;
    for (int i = 0; i < COUNT; i++)
        mine[i] = rank * COUNT + i;
    MPI_File_write_at_all(file, (MPI_Offset)rank * sizeof mine, mine, COUNT, MPI_INT, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    wrong += count != COUNT;
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at_all(file, (MPI_Offset)next * sizeof mine, theirs, COUNT, MPI_INT, MPI_STATUS_IGNORE);
    for (int i = 0; i < COUNT; i++)
        wrong += theirs[i] != next * COUNT + i;

    /* Behind them: every rank has each third integer. */
    MPI_Type_vector(COUNT, 1, ranks, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Offset start = (MPI_Offset)ranks * sizeof mine;
    MPI_File_set_view(file, start + rank * sizeof(int), MPI_INT, column, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, mine, COUNT, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_set_view(file, start, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    int *all = malloc(ranks * sizeof mine);
    MPI_Request request;
    MPI_File_iread_at(file, 0, all, ranks * COUNT, MPI_INT, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < ranks * COUNT; i++)
        wrong += all[i] != (i % ranks) * COUNT + i / ranks;
    free(all);
    MPI_Type_free(&column);

    MPI_File_get_size(file, &size);
    MPI_File_close(&file);
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_File_delete(name, MPI_INFO_NULL);
        printf("mpi_io: size %lld\n", (long long)size);
        fputs(all_wrong ? "mpi_io: WRONG\n" : "mpi_io: done\n", stdout);
    }
    MPI_Finalize();
    return all_wrong != 0;
}

/* The program that third-party tools are run on (ci/third-party): messages, collectives, MPI-IO, POSIX and standard I/O, a thread.
 *
 * What it calls, how often and with how many bytes depends on nothing but the number of ranks, so that two runs give a tool the same
 * things to report. Each call has a line of its own, for tools that report call sites. The argument is a directory for its files. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COUNT = 256, ROUNDS = 4 };

static int rank, ranks, errors;
static const char *directory;

static void check(int is_right, const char *what)
{
    if (!is_right) {
        fprintf(stderr, "program: rank %d: %s\n", rank, what);
        errors++;
    }
}

static const char *path(char *buffer, size_t size, const char *name, int number)
{
    if (number < 0)
        snprintf(buffer, size, "%s/%s", directory, name);
    else
        snprintf(buffer, size, "%s/%s.%d", directory, name, number);
    return buffer;
}

static void messages(void)
{
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    int out[COUNT] = { rank }, in[COUNT] = { -1 };
    MPI_Request requests[2];
    MPI_Status status, statuses[2];
    for (int round = 0; round < ROUNDS; round++) {
        if (round % 2) {
            MPI_Irecv(in, COUNT, MPI_INT, left, 7, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(out, round + 1, MPI_INT, right, 7, MPI_COMM_WORLD, &requests[1]);
            MPI_Waitall(2, requests, statuses);
        } else {
            MPI_Sendrecv(out, COUNT, MPI_INT, right, 7, in, COUNT, MPI_INT, left, 7, MPI_COMM_WORLD, &status);
        }
        check(in[0] == left, "message");
    }
    if (rank == 0) {
        for (int other = 1; other < ranks; other++) {
            MPI_Recv(in, COUNT, MPI_INT, other, 8, MPI_COMM_WORLD, &status);
            check(in[0] == other, "MPI_Recv");
        }
    } else {
        MPI_Send(out, rank, MPI_INT, 0, 8, MPI_COMM_WORLD);
    }
}

static void collectives(void)
{
    int one = rank + 1, sum = 0, total = ranks * (ranks + 1) / 2, *all = calloc(2 * ranks, sizeof *all);
    MPI_Comm half, copy;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_dup(half, &copy);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check(sum == total, "MPI_Allreduce");
    MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, copy);
    MPI_Bcast(all, ranks, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Gather(&one, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allgather(&one, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    check(all[ranks - 1] == ranks, "MPI_Allgather");
    MPI_Alltoall(all, 1, MPI_INT, all + ranks, 1, MPI_INT, MPI_COMM_WORLD);
    check(all[ranks] == rank + 1, "MPI_Alltoall");
    MPI_Comm_free(&copy);
    MPI_Comm_free(&half);
    MPI_Barrier(MPI_COMM_WORLD);
    free(all);
}

static void mpi_io(void)
{
    char name[1024];
    int mine[COUNT], back[COUNT];
    MPI_File file;
    MPI_Datatype column;
    for (int i = 0; i < COUNT; i++)
        mine[i] = rank * 1000 + i;
    MPI_File_open(MPI_COMM_WORLD, path(name, sizeof name, "shared", -1), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                  &file);
    MPI_File_write_at_all(file, (MPI_Offset)rank * sizeof mine, mine, COUNT, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_File_read_at(file, (MPI_Offset)rank * sizeof mine, back, COUNT, MPI_INT, MPI_STATUS_IGNORE);
    check(memcmp(mine, back, sizeof mine) == 0, "MPI_File_read_at");
    MPI_Type_vector(COUNT, 1, ranks, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_File_set_view(file, (MPI_Offset)rank * sizeof(int), MPI_INT, column, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, mine, COUNT, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Type_free(&column);
    MPI_File_close(&file);
}

static void posix_io(const char *of)
{
    char name[1024], block[512] = "", back[512];
    int file = open(path(name, sizeof name, of, rank), O_CREAT | O_RDWR | O_TRUNC, 0644);
    struct stat status;
    for (int i = 0; i < 8; i++)
        check(write(file, block, sizeof block) == sizeof block, "write");
    check(pwrite(file, block, 100, 1000) == 100, "pwrite");
    check(lseek(file, 512, SEEK_SET) == 512, "lseek");
    check(read(file, back, sizeof back) == sizeof back, "read");
    check(pread(file, back, 10, 5) == 10, "pread");
    check(fstat(file, &status) == 0 && status.st_size == 4096, "fstat");
    fsync(file);
    close(file);
}

static void standard_io(void)
{
    char name[1024], line[256];
    int lines = 0;
    FILE *file = fopen(path(name, sizeof name, "lines", rank), "w+");
    for (int i = 0; i < 20; i++)
        fprintf(file, "line %d of rank %d\n", i, rank);
    fwrite("last line\n", 1, 10, file);
    fflush(file);
    fseek(file, 0, SEEK_SET);
    while (fgets(line, sizeof line, file))
        lines++;
    check(lines == 21, "fgets");
    fclose(file);
}

static void *in_a_thread(void *unused)
{
    posix_io("thread");
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int all = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: program DIRECTORY\n");
        return 2;
    }
    directory = argv[1];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    messages();
    collectives();
    mpi_io();
    posix_io("blocks");
    standard_io();
    pthread_create(&thread, NULL, in_a_thread, NULL);
    pthread_join(thread, NULL);
    MPI_Allreduce(&errors, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("program: %d ranks, %d errors\n", ranks, all);
    MPI_Finalize();
    return all != 0;
}

//# lang: c
//# mpi: mpich
//# standard: 4
//# ranks: 1
//# expect-stdout: stored: 0 wrong
/* Functions that store large counts: answers that fit into an int, answers that do not, MPI_UNDEFINED, null pointers and errors. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int wrong;

static void is(int line, const char *what, long long got, long long wanted)
{
    if (got != wanted) {
        printf("line %d: %s is %lld instead of %lld\n", line, what, got, wanted);
        wrong++;
    }
}
#define IS(got, wanted) is(__LINE__, #got, got, wanted)

/* A count whose halves both have to be written. */
#define DIRTY 0x5555555555555555ll

int main(int argc, char **argv)
{
    const MPI_Count large = 3ll << 30;
    MPI_Datatype huge, pair;
    MPI_Status status;
    MPI_Count count, extent, lower, position;
    static char packed[256];
    int numbers[4] = {1, 2, 3, 4}, back[4];

    MPI_Init(&argc, &argv);
    MPI_Type_contiguous_c(large, MPI_BYTE, &huge);
    MPI_Type_commit(&huge);
    MPI_Type_contiguous_c(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);

    count = DIRTY, MPI_Type_size_c(pair, &count), IS(count, 8);
    count = DIRTY, MPI_Type_size_c(huge, &count), IS(count, large);
    lower = extent = DIRTY, MPI_Type_get_extent_c(pair, &lower, &extent), IS(lower, 0), IS(extent, 8);
    lower = extent = DIRTY, MPI_Type_get_extent_c(huge, &lower, &extent), IS(lower, 0), IS(extent, large);

    MPI_Status_set_elements_x(&status, MPI_INT, 3);
    count = DIRTY, MPI_Get_count_c(&status, MPI_INT, &count), IS(count, 3);
    count = DIRTY, MPI_Get_count_c(&status, pair, &count), IS(count, MPI_UNDEFINED);
    count = DIRTY, MPI_Get_elements_c(&status, pair, &count), IS(count, 3);
    MPI_Status_set_elements_x(&status, MPI_BYTE, large);
    count = DIRTY, MPI_Get_count_c(&status, MPI_BYTE, &count), IS(count, large);
    count = DIRTY, MPI_Get_elements_c(&status, MPI_BYTE, &count), IS(count, large);

    count = DIRTY, MPI_Pack_size_c(4, MPI_INT, MPI_COMM_WORLD, &count), IS(count, 16);
    count = DIRTY, MPI_Pack_size_c(large, MPI_BYTE, MPI_COMM_WORLD, &count), IS(count, large);
    count = DIRTY, MPI_Pack_size_c(1, huge, MPI_COMM_WORLD, &count), IS(count, large);
    position = 4, MPI_Pack_c(numbers, 4, MPI_INT, packed, sizeof packed, &position, MPI_COMM_WORLD), IS(position, 20);
    position = 4, MPI_Unpack_c(packed, sizeof packed, &position, back, 4, MPI_INT, MPI_COMM_WORLD), IS(position, 20), IS(back[3], 4);
    /* A buffer that is large as far as MPI knows. */
    position = 4, MPI_Pack_c(numbers, 4, MPI_INT, packed, large, &position, MPI_COMM_WORLD), IS(position, 20);

    count = DIRTY, MPI_Pack_external_size_c("external32", 4, MPI_INT, &count), IS(count, 16);
    position = 0, MPI_Pack_external_c("external32", numbers, 4, MPI_INT, packed, sizeof packed, &position), IS(position, 16);
    position = 0, back[3] = 0, MPI_Unpack_external_c("external32", packed, sizeof packed, &position, back, 4, MPI_INT);
    IS(position, 16), IS(back[3], 4);

    static char buffer[4096];
    void *detached = NULL;
    MPI_Buffer_attach_c(buffer, sizeof buffer);
    count = DIRTY, MPI_Buffer_detach_c(&detached, &count), IS(count, sizeof buffer), IS(detached == buffer, 1);
    char *reserved = malloc(large);
    MPI_Buffer_attach_c(reserved, large);
    count = DIRTY, MPI_Buffer_detach_c(&detached, &count), IS(count, large), IS(detached == reserved, 1);
    free(reserved);

    /* Errors: the same class, and the handler is called once. */
    int class;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Send_c(numbers, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), &class), IS(class, MPI_ERR_COUNT);
    MPI_Error_class(MPI_Type_size_c(MPI_DATATYPE_NULL, &count), &class), IS(class, MPI_ERR_TYPE);

    MPI_Type_free(&huge);
    MPI_Type_free(&pair);
    printf("stored: %d wrong\n", wrong);
    MPI_Finalize();
    return wrong != 0;
}

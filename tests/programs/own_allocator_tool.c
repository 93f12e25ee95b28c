//# role: companion
//# lang: c
//# mpi: both
//# links: own_allocator.c
//# cflags: -Wl,-rpath,$ORIGIN
/* A tool that gives back blocks of its own and of the C library's, and is linked with an allocator. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern long own_allocator_blocks;

int MPI_Finalize(void)
{
    int rank;
    char *line = NULL;
    size_t capacity = 0;
    FILE *file = fopen("/proc/self/stat", "r");
    if (getline(&line, &capacity, file) < 1)
        return 1;
    fclose(file);
    free(line);
    free(realpath(".", NULL));
    free(strdup("a block"));
    free(realloc(malloc(3), 5000));
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("own_allocator: %s blocks\n", own_allocator_blocks > 500 ? "many" : "few");
    fflush(stdout);
    return PMPI_Finalize();
}

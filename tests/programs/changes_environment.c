//# role: companion
//# lang: c
//# mpi: both
//# ranks: 1
/* Sets and unsets variables between MPI_Init and MPI_Finalize, and sees what a tool has set. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    setenv("OF_PROGRAM", "still mine", 1);
    MPI_Init(&argc, &argv);
    setenv("SET_BY_PROGRAM", "program", 1);
    const char *set = getenv("ENVIRON_READER_SET"), *own = getenv("OF_PROGRAM");
    printf("program: %s, %s\n", set ? set : "(none)", own ? own : "(none)");
    MPI_Finalize();
    return 0;
}

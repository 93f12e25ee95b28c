//# role: companion
//# lang: c
/* opens_at_init: a tool that wraps no function of the C library, and opens a file of its own in MPI_Init, as tools do for their logs. */
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int MPI_Init(int *argc, char ***argv)
{
    int descriptor = open(getenv("OPENS_AT_INIT"), O_CREAT | O_WRONLY, 0600);
    close(descriptor);
    return PMPI_Init(argc, argv);
}

//# role: companion
//# kind: qmpi
//# lang: c
//# mpi: both
/* registers_twice: a QMPI tool whose library registers its own name twice, as one does whose constructor is called by two of its
 * parts. The first registration counts, the second returns an error. Says in MPI_Comm_size what the two returned. */
#include "qmpi.h"

#include <stdio.h>

static int first = -1, second = -1;

static int twice_Comm_size(QMPI_Context context, int tool, MPI_Comm comm, int *size)
{
    void (*next)(void);
    int next_tool;
    printf("registers_twice: %s, then %s\n", first == MPI_SUCCESS ? "success" : "an error",
           second == MPI_SUCCESS ? "success" : "an error");
    QMPI_Get_function(tool, MPI_COMM_SIZE_T, &next, &next_tool);
    return ((QMPI_Comm_size_t *)next)(context, next_tool, comm, size);
}

static void initialize(int tool)
{
    QMPI_Register_function(tool, MPI_COMM_SIZE_T, (void (*)(void))twice_Comm_size);
}

__attribute__((constructor)) static void announce(void)
{
    first = QMPI_Register_tool_name("registers_twice", initialize);
    second = QMPI_Register_tool_name("registers_twice", initialize);
}

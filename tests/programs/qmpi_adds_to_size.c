//# role: companion
//# kind: qmpi
//# lang: c
//# mpi: both
/* native_adds: adds_to_size.c as a QMPI tool, which needs no namespace. */
#include "qmpi.h"

static int adds_Comm_size(QMPI_Context context, int tool, MPI_Comm comm, int *size)
{
    void (*next)(void);
    int next_tool;
    if (QMPI_Get_function(tool, MPI_COMM_SIZE_T, &next, &next_tool) != MPI_SUCCESS)
        return MPI_ERR_OTHER;
    int result = ((QMPI_Comm_size_t *)next)(context, next_tool, comm, size);
    *size += 1000000;
    return result;
}

static void initialize(int tool)
{
    QMPI_Register_function(tool, MPI_COMM_SIZE_T, (void (*)(void))adds_Comm_size);
}

__attribute__((constructor)) static void announce(void) { QMPI_Register_tool_name("native_adds", initialize); }

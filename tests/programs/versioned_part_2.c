//# role: companion
//# lang: c
//# mpi: both
//# links: versioned_stub.c
//# cflags: -Wl,-rpath,$ORIGIN
/* The same for MPI_Send@TOOL_2. */
#define ASKS_FOR "TOOL_2"
#include "versioned_part.c"

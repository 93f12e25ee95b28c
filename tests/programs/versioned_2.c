//# lang: c
//# mpi: both
//# companion: versioned_names.c
//# companion: versioned_part.c
//# companion: versioned_part_2.c
//# links: versioned_stub.c
//# cflags: -Wl,-rpath,$ORIGIN
//# libs: -ldl
//# ranks: 1
//# expect-stdout: versioned: received 7
/* versioned_none.c, linked so that it asks for MPI_Send@TOOL_2. */
#define ASKS_FOR "TOOL_2"
#include "versioned_none.c"

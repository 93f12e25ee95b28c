//# role: companion
//# lang: c
//# mpi: both
//# links: versioned_stub.c
//# cflags: -Wl,-rpath,$ORIGIN
/* A library that asks for MPI_Send@TOOL_1, whatever the program asks for that opens it. */
#include <mpi.h>

#ifndef ASKS_FOR
#define ASKS_FOR "TOOL_1"
#endif
__asm__(".symver MPI_Send, MPI_Send@" ASKS_FOR);

int versioned_part(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c);

int versioned_part(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    return MPI_Send(b, n, t, to, tag, c);
}

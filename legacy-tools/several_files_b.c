//# lang: c
//# mpi: both
//# role: companion
/* The second file of the tool `several_files`. */
#define _GNU_SOURCE
#include "several_files.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

__attribute__((constructor)) static void start(void) { several_files_note(AT_START, 'b'); }
__attribute__((destructor)) static void end(void) { fputs("destroyed b\n", stdout); }

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    int (*next)(const void *, int, MPI_Datatype, int, int, MPI_Comm) = dlsym(RTLD_NEXT, "MPI_Send");
    several_files_note(IN_SEND, 'b');
    return next(b, n, t, to, tag, c);
}

/* PMPI_Recv is the MPI library's: the third file's wrapper is not called. */
int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
    several_files_note(IN_RECV, 'b');
    return PMPI_Recv(b, n, t, from, tag, c, s);
}

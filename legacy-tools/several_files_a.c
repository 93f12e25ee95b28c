//# lang: c
//# mpi: both
//# role: companion
/* The first file of the tool `several_files`: has what the others refer to, and wrappers in front of theirs. */
#define _GNU_SOURCE
#include "several_files.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

char several_files_log[MOMENTS][64];

void several_files_note(enum moment when, char file)
{
    char *line = several_files_log[when];
    size_t length = strlen(line);
    if (length + 1 < sizeof several_files_log[when])
        line[length] = file;
}

__attribute__((constructor)) static void start(void) { several_files_note(AT_START, 'a'); }
__attribute__((destructor)) static void end(void) { fputs("destroyed a\n", stdout); }

/* The next definition is that of the next file. */
int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    int (*next)(const void *, int, MPI_Datatype, int, int, MPI_Comm) = dlsym(RTLD_NEXT, "MPI_Send");
    several_files_note(IN_SEND, 'a');
    return next(b, n, t, to, tag, c);
}

/* No other file has it, and one calls it. */
int MPI_Barrier(MPI_Comm c)
{
    several_files_note(IN_BARRIER, 'a');
    return PMPI_Barrier(c);
}

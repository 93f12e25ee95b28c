//# lang: c
//# mpi: both
//# role: companion
//# companion: several_files_a.c
//# companion: several_files_b.c
/* A tool of three files, which are preloaded together, in this order:
 *
 *     LD_PRELOAD=several_files_a.so:several_files_b.so:several_files.so
 *
 * This one refers to functions and variables of the first. Wrappers of one function are in several files: the program calls
 * the first of them, dlsym(RTLD_NEXT, ...) of which finds the second. What ran is noted in order. */
#define _GNU_SOURCE
#include "several_files.h"
#include "verdict.h"

#include <dlfcn.h>
#include <mpi.h>
#include <string.h>

__attribute__((constructor)) static void start(void) { several_files_note(AT_START, 't'); }
__attribute__((destructor)) static void end(void) { fputs("destroyed t\n", stdout); }

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    int (*next)(const void *, int, MPI_Datatype, int, int, MPI_Comm) = dlsym(RTLD_NEXT, "MPI_Send");
    several_files_note(IN_SEND, 't');
    count_call();
    return next(b, n, t, to, tag, c);
}

int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
    several_files_note(IN_RECV, 't');
    return PMPI_Recv(b, n, t, from, tag, c, s);
}

/* The file that has the first definition of a name. */
static const char *first(const char *name)
{
    Dl_info info;
    void *function = dlsym(RTLD_DEFAULT, name);
    if (!function || !dladdr(function, &info))
        return "none";
    const char *slash = strrchr(info.dli_fname, '/');
    return slash ? slash + 1 : info.dli_fname;
}

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    verdict_with("several_files", rank, "start=%s send=%s recv=%s barrier=%s first=%s,%s", several_files_log[AT_START],
                 several_files_log[IN_SEND], several_files_log[IN_RECV], several_files_log[IN_BARRIER], first("MPI_Send"),
                 first("MPI_Recv"));
    return PMPI_Finalize();
}

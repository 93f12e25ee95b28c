//# lang: c
//# mpi: both
//# libs: -ldl
//# program: ring.c
//# expect-stdout: tool rtld_next: ok calls=9
/* rtld_next: goes down with dlsym(RTLD_NEXT, "MPI_..."), never with PMPI, as EZTrace does.
 *
 * Hazard: "next" is the next object in the caller's lookup scope. In a scope without an MPI library dlsym
 * returns NULL, and the tool's only way down is gone. The names asked for are MPI_..., not PMPI_....
 *
 * Build: mpicc -shared -fPIC -O2 rtld_next.c -o rtld_next.so -ldl */
#define _GNU_SOURCE
#include "verdict.h"
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>

static int (*next_init)(int *, char ***);
static int (*next_send)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
static int (*next_recv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
static int (*next_bcast)(void *, int, MPI_Datatype, int, MPI_Comm);
static int (*next_comm_rank)(MPI_Comm, int *);
static int (*next_finalize)(void);

static void *next(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) {
        printf("tool rtld_next: FAILED dlsym(RTLD_NEXT, \"%s\") is NULL\n", name);
        fflush(stdout);
        _Exit(1);
    }
    return function;
}

int MPI_Init(int *argc, char ***argv)
{
    count_call();
    next_init = next("MPI_Init");
    next_send = next("MPI_Send");
    next_recv = next("MPI_Recv");
    next_bcast = next("MPI_Bcast");
    next_comm_rank = next("MPI_Comm_rank"); /* one that the tool does not define itself */
    next_finalize = next("MPI_Finalize");
    if ((void *)next_init == (void *)MPI_Init)
        fail("the next MPI_Init is the tool's own");
    return next_init(argc, argv);
}

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    count_call();
    return next_send(b, n, t, to, tag, c);
}

int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
    count_call();
    return next_recv(b, n, t, from, tag, c, s);
}

int MPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c)
{
    count_call();
    return next_bcast(b, n, t, root, c);
}

int MPI_Finalize(void)
{
    int rank = -1;
    count_call();
    next_comm_rank(MPI_COMM_WORLD, &rank);
    if (dlsym(RTLD_NEXT, "MPI_No_such_function"))
        fail("dlsym finds MPI_No_such_function");
    verdict("rtld_next", rank, "");
    return next_finalize();
}

//# lang: c
//# mpi: both
//# program: ring.c
/* order: one line when a call comes in, one when it goes back; a stack of copies shows the order of layers.
 *
 *     enter outer MPI_Send
 *     leave outer MPI_Send
 *
 *     ORDER_LABEL=outer     default: the name of the tool's own file, without ".so"
 *     ORDER_FILE=trace.txt  appended to; default: stderr
 *     ORDER_RANK=2          the only rank that writes; default: 0; "all" for all
 *
 * Each line is one write(2), so that lines of several copies come in the order of the calls. The rank is taken
 * from the launcher's environment: the tool makes no MPI call of its own. It also stands for functions that
 * return a double (MPI_Wtime), and for tools that look at their own path.
 *
 * Build: mpicc -shared -fPIC -O2 order.c -o order.so */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char label[64];
static int out = -1; /* nowhere: another rank writes */

__attribute__((constructor)) static void open_trace(void)
{
    Dl_info me;
    const char *name = getenv("ORDER_LABEL"), *file = getenv("ORDER_FILE"), *wanted = getenv("ORDER_RANK");
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank)
        rank = getenv("PMI_RANK");
    if (name) {
        snprintf(label, sizeof label, "%s", name);
    } else if (dladdr(&out, &me) && me.dli_fname) {
        const char *slash = strrchr(me.dli_fname, '/');
        const char *base = slash ? slash + 1 : me.dli_fname;
        snprintf(label, sizeof label, "%.*s", (int)strcspn(base, "."), base);
    }
    if (!wanted)
        wanted = "0";
    if (strcmp(wanted, "all") == 0 || strcmp(wanted, rank ? rank : "0") == 0)
        out = file ? open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : STDERR_FILENO;
}

static void trace(const char *what, const char *function)
{
    char line[160];
    if (out < 0)
        return;
    int length = snprintf(line, sizeof line, "%s %s %s\n", what, label, function);
    if (write(out, line, length) < 0)
        out = -1;
}

#define WRAP_AS(type, f, ...)                \
    {                                        \
        trace("enter", "MPI_" #f);           \
        type result = PMPI_##f(__VA_ARGS__); \
        trace("leave", "MPI_" #f);           \
        return result;                       \
    }
#define WRAP(f, ...) WRAP_AS(int, f, __VA_ARGS__)

int MPI_Init(int *argc, char ***argv) WRAP(Init, argc, argv)
int MPI_Init_thread(int *argc, char ***argv, int wanted, int *got) WRAP(Init_thread, argc, argv, wanted, got)
int MPI_Initialized(int *flag) WRAP(Initialized, flag)
int MPI_Get_version(int *version, int *subversion) WRAP(Get_version, version, subversion)
int MPI_Finalize(void) WRAP(Finalize)
int MPI_Comm_rank(MPI_Comm c, int *rank) WRAP(Comm_rank, c, rank)
int MPI_Comm_size(MPI_Comm c, int *size) WRAP(Comm_size, c, size)
int MPI_Comm_dup(MPI_Comm c, MPI_Comm *dup) WRAP(Comm_dup, c, dup)
int MPI_Comm_free(MPI_Comm *c) WRAP(Comm_free, c)
int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c) WRAP(Send, b, n, t, to, tag, c)
int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
    WRAP(Recv, b, n, t, from, tag, c, s)
int MPI_Isend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r)
    WRAP(Isend, b, n, t, to, tag, c, r)
int MPI_Irecv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r)
    WRAP(Irecv, b, n, t, from, tag, c, r)
int MPI_Wait(MPI_Request *r, MPI_Status *s) WRAP(Wait, r, s)
int MPI_Sendrecv(const void *b, int n, MPI_Datatype t, int to, int tag, void *rb, int rn, MPI_Datatype rt,
                 int from, int rtag, MPI_Comm c, MPI_Status *s)
    WRAP(Sendrecv, b, n, t, to, tag, rb, rn, rt, from, rtag, c, s)
int MPI_Get_count(const MPI_Status *s, MPI_Datatype t, int *n) WRAP(Get_count, s, t, n)
int MPI_Barrier(MPI_Comm c) WRAP(Barrier, c)
int MPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c) WRAP(Bcast, b, n, t, root, c)
int MPI_Reduce(const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c)
    WRAP(Reduce, b, rb, n, t, op, root, c)
int MPI_Allreduce(const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c)
    WRAP(Allreduce, b, rb, n, t, op, c)
double MPI_Wtime(void) WRAP_AS(double, Wtime)

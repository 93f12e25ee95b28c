//# lang: c
//# mpi: both
//# with: sentinels_of_fortran.f90
//# cflags: -w
/* sentinels_to_c: wrappers for C and for Fortran, as mpiP's: the Fortran wrapper converts handles and the addresses that mean
 * something (MPI_IN_PLACE, ...), and goes on with PMPI_* in C.
 *
 * Hazard: the addresses are those of common blocks that the tool defines itself, like the program and MPI's Fortran library,
 * with which this tool is not linked. An address that is not recognized is a buffer: a wrong result.
 *
 * Says `tool sentinels_to_c: FUNCTION fortran=N c=N recognized=N` for each function that was called, at the end of the process;
 * the program passes sentinels in all calls, so `recognized` has to be their number in the Fortran calls.
 *
 * Build: mpicc -shared -fPIC -O2 sentinels_to_c.c sentinels_of_fortran.f90 -o sentinels_to_c.so */
#define TOOL "sentinels_to_c"
#include "sentinels_wrappers.h"

static void *from_fortran(void *address, enum sentinel sentinel, void *in_c)
{
    return recognize(address, sentinel) ? in_c : address;
}

void mpi_allreduce_(void *b, void *rb, F *n, F *t, F *op, F *c, F *error)
{
    begin(ALLREDUCE);
    *error = PMPI_Allreduce(from_fortran(b, IN_PLACE, MPI_IN_PLACE), rb, *n, PMPI_Type_f2c(*t), PMPI_Op_f2c(*op), PMPI_Comm_f2c(*c));
}

void mpi_sendrecv_(void *b, F *n, F *t, F *to, F *tag, void *rb, F *rn, F *rt, F *from, F *rtag, F *c, F *status, F *error)
{
    MPI_Status in_c, *passed = recognize(status, STATUS_IGNORE) ? MPI_STATUS_IGNORE : &in_c;
    begin(SENDRECV);
    *error = PMPI_Sendrecv(from_fortran(b, BOTTOM, MPI_BOTTOM), *n, PMPI_Type_f2c(*t), *to, *tag, rb, *rn, PMPI_Type_f2c(*rt),
                           *from, *rtag, PMPI_Comm_f2c(*c), passed);
    if (passed == &in_c)
        PMPI_Status_c2f(&in_c, status);
}

void mpi_waitall_(F *n, F *requests, F *statuses, F *error)
{
    MPI_Request in_c[16];
    MPI_Status filled[16], *passed = recognize(statuses, STATUSES_IGNORE) ? MPI_STATUSES_IGNORE : filled;
    begin(WAITALL);
    for (int i = 0; i < *n; i++)
        in_c[i] = PMPI_Request_f2c(requests[i]);
    *error = PMPI_Waitall(*n, in_c, passed);
    for (int i = 0; i < *n; i++) {
        requests[i] = PMPI_Request_c2f(in_c[i]);
        if (passed == filled)
            PMPI_Status_c2f(&filled[i], &statuses[i * (sizeof(MPI_Status) / sizeof(F))]);
    }
}

static void *weights(void *address)
{
    void *unweighted = from_fortran(address, UNWEIGHTED, MPI_UNWEIGHTED);
    return unweighted == address ? from_fortran(address, WEIGHTS_EMPTY, MPI_WEIGHTS_EMPTY) : unweighted;
}

void mpi_dist_graph_create_adjacent_(F *c, F *in, F *sources, F *in_weights, F *out, F *to, F *out_weights, F *info, F *reorder,
                                     F *graph, F *error)
{
    MPI_Comm in_c;
    begin(DIST_GRAPH_CREATE_ADJACENT);
    *error = PMPI_Dist_graph_create_adjacent(PMPI_Comm_f2c(*c), *in, sources, weights(in_weights), *out, to, weights(out_weights),
                                             PMPI_Info_f2c(*info), *reorder, &in_c);
    *graph = PMPI_Comm_c2f(in_c);
}

void mpi_comm_spawn_(char *command, char *argv, F *n, F *info, F *root, F *c, F *children, F *codes, F *error, long length,
                     long argv_length)
{
    char name[300] = "";
    MPI_Comm in_c;
    begin(COMM_SPAWN);
    void *arguments = from_fortran(argv, ARGV_NULL, MPI_ARGV_NULL);
    void *passed = from_fortran(codes, ERRCODES_IGNORE, MPI_ERRCODES_IGNORE);
    if (answered(command, children, error))
        return;
    while (length > 0 && command[length - 1] == ' ')
        length--;
    snprintf(name, sizeof name, "%.*s", (int)length, command);
    *error = PMPI_Comm_spawn(name, arguments, *n, PMPI_Info_f2c(*info), *root, PMPI_Comm_f2c(*c), &in_c, passed);
    *children = PMPI_Comm_c2f(in_c);
}

int MPI_Allreduce(const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c)
{
    begin_c(ALLREDUCE);
    return PMPI_Allreduce(b, rb, n, t, op, c);
}

int MPI_Sendrecv(const void *b, int n, MPI_Datatype t, int to, int tag, void *rb, int rn, MPI_Datatype rt, int from, int rtag,
                 MPI_Comm c, MPI_Status *s)
{
    begin_c(SENDRECV);
    return PMPI_Sendrecv(b, n, t, to, tag, rb, rn, rt, from, rtag, c, s);
}

int MPI_Waitall(int n, MPI_Request r[], MPI_Status s[])
{
    begin_c(WAITALL);
    return PMPI_Waitall(n, r, s);
}

int MPI_Dist_graph_create_adjacent(MPI_Comm c, int in, const int sources[], const int in_weights[], int out, const int to[],
                                   const int out_weights[], MPI_Info info, int reorder, MPI_Comm *graph)
{
    begin_c(DIST_GRAPH_CREATE_ADJACENT);
    return PMPI_Dist_graph_create_adjacent(c, in, sources, in_weights, out, to, out_weights, info, reorder, graph);
}

int MPI_Comm_spawn(const char *command, char *argv[], int n, MPI_Info info, int root, MPI_Comm c, MPI_Comm *children, int codes[])
{
    begin_c(COMM_SPAWN);
    if (is_answered(command)) {
        *children = MPI_COMM_NULL;
        return MPI_SUCCESS;
    }
    return PMPI_Comm_spawn(command, argv, n, info, root, c, children, codes);
}

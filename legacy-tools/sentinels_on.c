//# lang: fortran
//# mpi: both
//# with: sentinels_of_fortran.f90
//# cflags: -w
/* sentinels_on: wrappers for Fortran alone, which look at the addresses that mean something (MPI_IN_PLACE, ...) and go on with
 * pmpi_* in Fortran. Linked with MPI's Fortran library, whose pmpi_* has to recognize what the program passes.
 *
 * Says what sentinels_to_c.c says.
 *
 * Build: mpifort -shared -fPIC -O2 sentinels_on.c sentinels_of_fortran.f90 -o sentinels_on.so */
#define TOOL "sentinels_on"
#include "sentinels_wrappers.h"

void pmpi_allreduce_(void *b, void *rb, F *n, F *t, F *op, F *c, F *error);
void pmpi_sendrecv_(void *b, F *n, F *t, F *to, F *tag, void *rb, F *rn, F *rt, F *from, F *rtag, F *c, F *status, F *error);
void pmpi_waitall_(F *n, F *requests, F *statuses, F *error);
void pmpi_dist_graph_create_adjacent_(F *c, F *in, F *sources, F *in_weights, F *out, F *to, F *out_weights, F *info, F *reorder,
                                      F *graph, F *error);
void pmpi_comm_spawn_(char *command, char *argv, F *n, F *info, F *root, F *c, F *children, F *codes, F *error, long length,
                      long argv_length);

void mpi_allreduce_(void *b, void *rb, F *n, F *t, F *op, F *c, F *error)
{
    begin(ALLREDUCE);
    recognize(b, IN_PLACE);
    pmpi_allreduce_(b, rb, n, t, op, c, error);
}

void mpi_sendrecv_(void *b, F *n, F *t, F *to, F *tag, void *rb, F *rn, F *rt, F *from, F *rtag, F *c, F *status, F *error)
{
    begin(SENDRECV);
    recognize(b, BOTTOM);
    recognize(status, STATUS_IGNORE);
    pmpi_sendrecv_(b, n, t, to, tag, rb, rn, rt, from, rtag, c, status, error);
}

void mpi_waitall_(F *n, F *requests, F *statuses, F *error)
{
    begin(WAITALL);
    recognize(statuses, STATUSES_IGNORE);
    pmpi_waitall_(n, requests, statuses, error);
}

void mpi_dist_graph_create_adjacent_(F *c, F *in, F *sources, F *in_weights, F *out, F *to, F *out_weights, F *info, F *reorder,
                                     F *graph, F *error)
{
    begin(DIST_GRAPH_CREATE_ADJACENT);
    for (F **weights = (F *[]){ in_weights, out_weights, NULL }; *weights; weights++)
        if (!recognize(*weights, UNWEIGHTED))
            recognize(*weights, WEIGHTS_EMPTY);
    pmpi_dist_graph_create_adjacent_(c, in, sources, in_weights, out, to, out_weights, info, reorder, graph, error);
}

void mpi_comm_spawn_(char *command, char *argv, F *n, F *info, F *root, F *c, F *children, F *codes, F *error, long length,
                     long argv_length)
{
    begin(COMM_SPAWN);
    recognize(argv, ARGV_NULL);
    recognize(codes, ERRCODES_IGNORE);
    if (!answered(command, children, error))
        pmpi_comm_spawn_(command, argv, n, info, root, c, children, codes, error, length, argv_length);
}

//# role: companion
//# lang: c
//# mpi: both
//# cflags: -I../bridge/include
//# libs: -ldl
/* qmpi_where: a QMPI tool that asks for the calling address of some functions. At the end rank 0 prints for each the file that
 * the address of its last call is in, and the function if it is exported: `where MPI_Send ring main`; `repeated` if MPI_Send and MPI_Recv have the same address. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <qmpi.h>
#include <stdio.h>
#include <string.h>

enum { INIT, COMM_RANK, SEND, RECV, FINALIZE, FUNCTIONS };
static const char *const names[FUNCTIONS] = { "MPI_Init", "MPI_Comm_rank", "MPI_Send", "MPI_Recv", "MPI_Finalize" };
static void *sites[FUNCTIONS];

#define WHERE(f, F)                                                                \
    QMPI_##f##_t *next;                                                            \
    int next_id;                                                                   \
    QMPI_Get_calling_address(c, &sites[F]);                                        \
    QMPI_Get_function(id, MPI_##F##_T, (void (**)(void))&next, &next_id);

static int where_Init(QMPI_Context c, int id, int *argc, char ***argv)
{
    WHERE(Init, INIT)
    return next(c, next_id, argc, argv);
}

static int where_Comm_rank(QMPI_Context c, int id, MPI_Comm comm, int *rank)
{
    WHERE(Comm_rank, COMM_RANK)
    return next(c, next_id, comm, rank);
}

static int where_Send(QMPI_Context c, int id, const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm comm)
{
    WHERE(Send, SEND)
    return next(c, next_id, b, n, t, to, tag, comm);
}

static int where_Recv(QMPI_Context c, int id, void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm comm,
                      MPI_Status *s)
{
    WHERE(Recv, RECV)
    return next(c, next_id, b, n, t, from, tag, comm, s);
}

static int where_Finalize(QMPI_Context c, int id)
{
    int rank;
    WHERE(Finalize, FINALIZE)
    QMPI_Comm_rank(c, id, MPI_COMM_WORLD, &rank);
    for (int f = 0; f < FUNCTIONS && rank == 0; f++) {
        Dl_info info = { 0 };
        const char *file = dladdr(sites[f], &info) ? info.dli_fname : "nowhere", *slash = strrchr(file, '/');
        const char *function = info.dli_sname ? info.dli_sname : "";
        printf("where %s %s%s%s\n", names[f], slash ? slash + 1 : file, *function ? " " : "", function);
    }
    if (rank == 0 && sites[SEND] == sites[RECV])
        fputs("where: repeated\n", stdout);
    fflush(stdout);
    return next(c, next_id);
}

static void init(int id)
{
    QMPI_Register_function(id, MPI_INIT_T, (void (*)(void))where_Init);
    QMPI_Register_function(id, MPI_COMM_RANK_T, (void (*)(void))where_Comm_rank);
    QMPI_Register_function(id, MPI_SEND_T, (void (*)(void))where_Send);
    QMPI_Register_function(id, MPI_RECV_T, (void (*)(void))where_Recv);
    QMPI_Register_function(id, MPI_FINALIZE_T, (void (*)(void))where_Finalize);
}

__attribute__((constructor)) static void announce(void)
{
    QMPI_Register_tool_name("where", init);
}

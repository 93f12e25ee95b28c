//# role: companion
//# lang: c
//# mpi: both
/* early_tool: which function was the first that the program called, of those allowed before MPI_Init?
 *
 * For tests/programs/early.c: the tool must be there by then, and see MPI_Init after it. Rank 0 says
 * `early_tool: MPI_Initialized, then MPI_Init`. */
#include <mpi.h>
#include <stdio.h>

static const char *first, *second;

static void note(const char *function)
{
    if (!first)
        first = function;
    else if (!second)
        second = function;
}

#define WRAP_AS(type, f, ...)         \
    {                                 \
        note("MPI_" #f);              \
        type result = PMPI_##f(__VA_ARGS__); \
        return result;                \
    }
#define WRAP(f, ...) WRAP_AS(int, f, __VA_ARGS__)

int MPI_Init(int *argc, char ***argv) WRAP(Init, argc, argv)
int MPI_Initialized(int *flag) WRAP(Initialized, flag)
int MPI_Finalized(int *flag) WRAP(Finalized, flag)
int MPI_Get_version(int *version, int *subversion) WRAP(Get_version, version, subversion)
int MPI_Get_library_version(char *text, int *length) WRAP(Get_library_version, text, length)
int MPI_T_init_thread(int wanted, int *got) WRAP(T_init_thread, wanted, got)
double MPI_Wtime(void) WRAP_AS(double, Wtime)

int MPI_Info_create(MPI_Info *info)
{
    int result = PMPI_Info_create(info);
    if (!first)
        first = "MPI_Info_create"; /* its other calls are not wrapped: MPI_Init comes second */
    return result;
}

int MPI_Finalize(void)
{
    int rank = -1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("early_tool: %s, then %s\n", first ? first : "nothing", second ? second : "nothing");
    return PMPI_Finalize();
}

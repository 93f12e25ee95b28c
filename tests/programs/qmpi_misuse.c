//# role: companion
//# lang: c
//# mpi: both
//# cflags: -I../bridge/include
/* qmpi_misuse: a QMPI tool that gets everything wrong, at every time, and looks at what is returned: error classes of the MPI
 * that it was compiled for. Prints `misuse: N calls, 0 wrong` on rank 0. */
#include <limits.h>
#include <mpi.h>
#include <qmpi.h>
#include <stdio.h>
#include <string.h>

static int calls, wrong, own_id;

static void expect(int line, const char *what, int expected, int got)
{
    calls++;
    if (got != expected) {
        wrong++;
        printf("misuse: line %d: %s is %d, not %d\n", line, what, got, expected);
    }
}
#define EXPECT(expected, call) expect(__LINE__, #call, expected, call)

typedef void function(void);
static const int bad_ids[] = { -1, 2, 99, INT_MAX, INT_MIN, 0x10000 };
static const int bad_numbers[] = { -1, INT_MIN, INT_MAX, 0xffff, QMPIX_FUNCTION_BASE - 1, QMPIX_FUNCTION_BASE + 5000,
                                   MPI_LAST_FUNC_T };
static const char *const bad_names[] = { NULL, "", "MPI_", "mpi_send", "PMPI_Send", "MPI_Sent", "MPI_Send " };
#define EACH(list, i) for (unsigned i = 0; i < sizeof list / sizeof *list; i++)
#define NUMBER(i) ((enum QMPI_Functions_enum)bad_numbers[i])

static int my_Barrier(QMPI_Context context, int id, MPI_Comm comm);
static void init(int id);

/* Before init callbacks, and within one: nothing comes next yet. */
static void too_early(int id)
{
    function *next;
    int next_id;
    EXPECT(MPI_ERR_OTHER, QMPI_Get_function(id, MPI_SEND_T, &next, &next_id));
    EXPECT(MPI_ERR_OTHER, MPI_Get_next_tool_function(id, MPI_SEND_T, &next, &next_id));
    EXPECT(MPI_ERR_OTHER, QMPIX_Get_function_by_name(id, "MPI_Send", &next, &next_id));
}

__attribute__((constructor)) static void announce(void)
{
    char longest[QMPI_MAX_TOOL_NAME_LENGTH + 1];
    void *storage;
    memset(longest, 'x', sizeof longest);
    longest[QMPI_MAX_TOOL_NAME_LENGTH] = 0;
    EXPECT(MPI_ERR_ARG, QMPI_Register_tool_name(longest, init));
    EXPECT(MPI_ERR_ARG, QMPI_Register_tool_name(NULL, init));
    EXPECT(MPI_ERR_ARG, QMPI_Register_tool_name("misuse", NULL));
    EXPECT(MPI_ERR_ARG, QMPI_Register_tool_name("", init));
    EXPECT(MPI_ERR_ARG, QMPI_Register_tool_name("\xff\xfe", init));
    EXPECT(MPI_SUCCESS, QMPI_Register_tool_name("misuse", init));
    EXPECT(MPI_ERR_ARG, QMPI_Register_tool_name("misuse", init));
    EXPECT(MPI_ERR_ARG, MPI_Register_tool_name("misuse", init));
    longest[QMPI_MAX_TOOL_NAME_LENGTH - 1] = 0;
    EXPECT(MPI_SUCCESS, MPI_Register_tool_name(longest, init));
    EXPECT(MPI_ERR_ARG, QMPI_Register_tool_storage(1, &storage));
    EXPECT(MPI_ERR_ARG, QMPI_Register_function(1, MPI_SEND_T, (function *)my_Barrier));
    EXPECT(MPI_ERR_ARG, QMPI_Get_tool_storage((QMPI_Context){ 0 }, 1, &storage));
    too_early(0);
    too_early(1);
    EACH(bad_ids, i)
        too_early(bad_ids[i]);
}

static void init(int id)
{
    void *storage = &storage;
    own_id = id;
    EXPECT(MPI_ERR_OTHER, QMPI_Register_tool_name("late", init));
    EXPECT(MPI_ERR_ARG, QMPI_Register_function(id, MPI_SEND_T, NULL));
    EXPECT(MPI_ERR_ARG, QMPIX_Register_function_by_name(id, "MPI_Send", NULL));
    EXPECT(MPI_SUCCESS, QMPI_Get_tool_storage((QMPI_Context){ 0 }, id, &storage));
    EXPECT(1, storage == NULL);
    EXPECT(MPI_ERR_ARG, QMPI_Get_tool_storage((QMPI_Context){ 0 }, id, NULL));
    EACH(bad_numbers, i) {
        EXPECT(MPI_ERR_ARG, QMPI_Register_function(id, NUMBER(i), (function *)my_Barrier));
        EXPECT(MPI_ERR_ARG, MPI_Register_tool_function(id, bad_numbers[i], (function *)my_Barrier));
    }
    EACH(bad_names, i)
        EXPECT(MPI_ERR_ARG, QMPIX_Register_function_by_name(id, bad_names[i], (function *)my_Barrier));
    EACH(bad_ids, i) {
        EXPECT(MPI_ERR_ARG, QMPI_Register_function(bad_ids[i], MPI_SEND_T, (function *)my_Barrier));
        EXPECT(MPI_ERR_ARG, QMPI_Register_tool_storage(bad_ids[i], &storage));
        EXPECT(MPI_ERR_ARG, QMPI_Get_tool_storage((QMPI_Context){ 0 }, bad_ids[i], &storage));
    }
    too_early(id);
    /* The second registration counts. */
    EXPECT(MPI_SUCCESS, QMPI_Register_function(id, MPI_BARRIER_T, (function *)init));
    EXPECT(MPI_SUCCESS, MPI_Register_function(id, MPI_BARRIER_T, (function *)my_Barrier));
    EXPECT(MPI_SUCCESS, QMPI_Register_tool_storage(id, NULL));
    EXPECT(MPI_SUCCESS, QMPI_Register_tool_storage(id, &wrong));
}

static int my_Barrier(QMPI_Context context, int id, MPI_Comm comm)
{
    QMPI_Barrier_t *barrier = NULL;
    function *next = NULL;
    void *storage = NULL, *address = NULL;
    int next_id = -1, rank;
    EXPECT(own_id, id);
    EXPECT(MPI_ERR_OTHER, QMPI_Register_tool_name("late", init));
    EXPECT(MPI_ERR_OTHER, QMPI_Register_tool_storage(id, &storage));
    EXPECT(MPI_ERR_OTHER, QMPI_Register_function(id, MPI_SEND_T, (function *)my_Barrier));
    EXPECT(MPI_ERR_OTHER, QMPIX_Register_function_by_name(id, "MPI_Send", (function *)my_Barrier));
    EXPECT(MPI_SUCCESS, QMPI_Get_tool_storage(context, id, &storage));
    EXPECT(1, storage == &wrong);
    EXPECT(MPI_ERR_ARG, QMPI_Get_tool_storage(context, id, NULL));
    EXPECT(MPI_ERR_ARG, QMPI_Get_calling_address(context, NULL));
    EXPECT(MPI_ERR_ARG, MPI_Get_calling_address(context, NULL));
    EXPECT(MPI_SUCCESS, MPI_Get_calling_address(context, &address));
    EXPECT(1, address != NULL);
    EXPECT(MPI_ERR_ARG, QMPI_Get_function(id, MPI_SEND_T, NULL, &next_id));
    EXPECT(MPI_ERR_ARG, QMPI_Get_function(id, MPI_SEND_T, &next, NULL));
    EXPECT(MPI_ERR_ARG, MPI_Get_function(id, MPI_SEND_T, NULL, NULL));
    EACH(bad_ids, i) {
        EXPECT(MPI_ERR_ARG, QMPI_Get_function(bad_ids[i], MPI_SEND_T, &next, &next_id));
        EXPECT(MPI_ERR_ARG, QMPIX_Get_function_by_name(bad_ids[i], "MPI_Send", &next, &next_id));
        EXPECT(MPI_ERR_ARG, MPI_Get_tool_storage(context, bad_ids[i], &storage));
    }
    EACH(bad_numbers, i)
        EXPECT(MPI_ERR_ARG, QMPI_Get_function(id, NUMBER(i), &next, &next_id));
    EACH(bad_names, i)
        EXPECT(MPI_ERR_ARG, QMPIX_Get_function_by_name(id, bad_names[i], &next, &next_id));
    /* A function that this MPI lacks. */
#ifdef OMPI_MAJOR_VERSION
    EXPECT(MPI_ERR_ARG, QMPIX_Get_function_by_name(id, "MPIX_Stream_create", &next, &next_id));
#else
    EXPECT(MPI_ERR_ARG, QMPIX_Get_function_by_name(id, "OMPI_Affinity_str", &next, &next_id));
#endif
    EXPECT(1, next == NULL && next_id == -1);
    EXPECT(MPI_SUCCESS, QMPI_Get_function(id, MPI_BARRIER_T, (function **)&barrier, &next_id));
    QMPI_Comm_rank(context, id, comm, &rank);
    if (rank == 0)
        printf("misuse: %d calls, %d wrong\n", calls, wrong);
    return barrier(context, next_id, comm);
}

//# role: companion
//# lang: c
//# mpi: both
//# cflags: -I../bridge/include
/* registers_late: a program that registers a QMPI tool itself, in `main`, as late as the draft lets it: until MPI is initialized. It is
 * linked with libqmpi.so. The first argument says what else it does:
 *
 *     plain       nothing before it
 *     after       calls what may be called before MPI_Init, and registers then
 *     sessions    initializes MPI with MPI_Session_init
 *
 * It prints what each registration returned: in `main`, the same name once more, within the init callback, in the tool's function that
 * initializes MPI, and after MPI is initialized; how often the init callback ran; and which calls the tool saw. */
#include <mpi.h>
#include <qmpi.h>
#include <stdio.h>
#include <string.h>

static int callbacks, inits, barriers, sessions, initialized;
static int in_callback = -1, in_init = -1;

static const char *word(int class)
{
    return class == MPI_SUCCESS ? "ok" : class == MPI_ERR_ARG ? "arg" : class == MPI_ERR_OTHER ? "late" : class < 0 ? "-" : "?";
}

static void init_late(int id);

#define GO_ON(f, F, ...)                                                                                                  \
    QMPI_##f##_t *next;                                                                                                   \
    int next_id;                                                                                                          \
    if (QMPI_Get_function(id, MPI_##F##_T, (void (**)(void))&next, &next_id))                                             \
        return MPI_ERR_OTHER;                                                                                             \
    return next(__VA_ARGS__)

static int my_Init(QMPI_Context context, int id, int *argc, char ***argv)
{
    inits++;
    in_init = QMPI_Register_tool_name("in_init", init_late);
    GO_ON(Init, INIT, context, next_id, argc, argv);
}

static int my_Barrier(QMPI_Context context, int id, MPI_Comm comm)
{
    barriers++;
    GO_ON(Barrier, BARRIER, context, next_id, comm);
}

static int my_Initialized(QMPI_Context context, int id, int *flag)
{
    initialized++;
    GO_ON(Initialized, INITIALIZED, context, next_id, flag);
}

#ifdef MPI_SESSION_NULL
static int my_Session_init(QMPI_Context context, int id, MPI_Info info, MPI_Errhandler handler, MPI_Session *session)
{
    sessions++;
    in_init = QMPI_Register_tool_name("in_init", init_late);
    GO_ON(Session_init, SESSION_INIT, context, next_id, info, handler, session);
}
#endif

static void init_late(int id)
{
    callbacks++;
    in_callback = QMPI_Register_tool_name("in_callback", init_late);
    QMPI_Register_function(id, MPI_INIT_T, (void (*)(void))my_Init);
    QMPI_Register_function(id, MPI_BARRIER_T, (void (*)(void))my_Barrier);
    QMPI_Register_function(id, MPI_INITIALIZED_T, (void (*)(void))my_Initialized);
#ifdef MPI_SESSION_NULL
    QMPI_Register_function(id, MPI_SESSION_INIT_T, (void (*)(void))my_Session_init);
#endif
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "plain";
    int first, again, after, is_initialized = 1, version, subversion, length;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    if (strcmp(what, "after") == 0) {
        MPI_Initialized(&is_initialized);
        MPI_Get_version(&version, &subversion);
        MPI_Get_library_version(text, &length);
        if (is_initialized || version != MPI_VERSION || !length)
            fputs("wrong answers before MPI_Init\n", stdout);
    }
    first = QMPI_Register_tool_name("late", init_late);
    again = MPI_Register_tool_name("late", init_late);
    if (strcmp(what, "sessions") == 0) {
#ifdef MPI_SESSION_NULL
        MPI_Session session;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
        after = QMPI_Register_tool_name("after", init_late);
        MPI_Session_finalize(&session);
#else
        after = -1;
#endif
    } else {
        MPI_Init(&argc, &argv);
        after = QMPI_Register_tool_name("after", init_late);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Initialized(&is_initialized);
        MPI_Finalize();
    }
    printf("registered %s, again %s, in the callback %s, in MPI_Init %s, after %s\n", word(first), word(again),
           word(in_callback), word(in_init), word(after));
    printf("callbacks %d, inits %d, sessions %d, barriers %d, initialized %d\n", callbacks, inits, sessions, barriers,
           initialized);
    return 0;
}

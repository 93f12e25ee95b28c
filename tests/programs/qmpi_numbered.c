//# role: companion
//# lang: c
//# mpi: both
/* qmpi_numbered: a QMPI tool that means functions by numbers everywhere: to register, to look up, in tables. Compiled with the
 * headers of one MPICH it runs on others, where these numbers are others. Rank 0 says `NAME 1: send 3, wait 2, file 0, time 2`.
 *
 *   NAME              what it is called
 *   WITHOUT_HANDLES   only functions without handles, for an MPI that has others than the header's
 *   BY_NAME           means functions by their names */
#include <mpi.h>
#include <qmpi.h>
#include <qmpix.h>
#include <stdio.h>
#include <stdlib.h>

struct instance {
    int send, wait, file, time, rank;
};

static struct instance *of(QMPI_Context context, int id)
{
    void *self;
    if (QMPI_Get_tool_storage(context, id, &self))
        abort();
    return (struct instance *)self;
}

#ifdef BY_NAME
#define LOOK_UP(F, f) QMPIX_Get_function_by_name(id, "MPI_" #f, (void (**)(void))&next, &next_id)
#define REGISTER(F, f) QMPIX_Register_function_by_name(id, "MPI_" #f, (void (*)(void))my_##f)
#else
#define LOOK_UP(F, f) MPI_Get_next_tool_function(id, MPI_##F##_T, (void (**)(void))&next, &next_id)
#define REGISTER(F, f) MPI_Register_tool_function(id, MPI_##F##_T, (void (*)(void))my_##f)
#endif

#define NEXT(F, f) \
    QMPI_##f##_t *next; \
    int next_id; \
    if (LOOK_UP(F, f)) \
        abort();

#ifndef WITHOUT_HANDLES
static int my_Send(QMPI_Context context, int id, const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    NEXT(SEND, Send)
    of(context, id)->send++;
    return next(context, next_id, b, n, t, to, tag, c);
}

static int my_Wait(QMPI_Context context, int id, MPI_Request *r, MPI_Status *s)
{
    NEXT(WAIT, Wait)
    of(context, id)->wait++;
    return next(context, next_id, r, s);
}

/* An enumerator of MPICH since 5.0, and of qmpi.h before. */
static int my_File_close(QMPI_Context context, int id, MPI_File *file)
{
    NEXT(FILE_CLOSE, File_close)
    of(context, id)->file++;
    return next(context, next_id, file);
}
#endif

static double my_Wtime(QMPI_Context context, int id)
{
    NEXT(WTIME, Wtime)
    of(context, id)->time++;
    return next(context, next_id);
}

#ifndef BY_NAME
/* A table of what comes next says what QMPI_Get_function says, and so does one that is made by hand, whatever number. */
static void look_into_tables(int id)
{
    QMPIX_Table next, own;
    void (*asked)(void), (*found)(void);
    int asked_id, found_id;
    if (QMPIX_Table_next(id, &next) || QMPIX_Table_create(&own))
        abort();
    for (int number = 0; number < MPI_LAST_FUNC_T; number++) {
        if (QMPI_Get_function(id, (enum QMPI_Functions_enum)number, &asked, &asked_id))
            continue;
        if (QMPIX_Table_query(next, number, &found, &found_id) || found != asked || found_id != asked_id)
            abort();
        if (QMPIX_Table_set(own, number, asked, asked_id) || QMPIX_Table_query(own, number, &found, &found_id)
            || found != asked)
            abort();
    }
    if (QMPI_Get_function(id, MPI_SEND_T, &asked, &asked_id)
        || QMPIX_Table_query_name(own, "MPI_Send", &found, &found_id) || found != asked)
        abort();
    QMPIX_Table_destroy(&next);
    QMPIX_Table_destroy(&own);
}
#endif

static int my_Init(QMPI_Context context, int id, int *argc, char ***argv)
{
    NEXT(INIT, Init)
#ifndef BY_NAME
    look_into_tables(id);
#endif
    return next(context, next_id, argc, argv);
}

static int my_Finalize(QMPI_Context context, int id)
{
    NEXT(FINALIZE, Finalize)
    struct instance *self = of(context, id);
    int rank = 0;
#ifndef WITHOUT_HANDLES
    QMPI_Comm_rank(context, id, MPI_COMM_WORLD, &rank);
#endif
    if (rank == 0)
        printf("%s %d: send %d, wait %d, file %d, time %d\n", NAME, id, self->send, self->wait, self->file, self->time);
    return next(context, next_id);
}

static void init(int id)
{
    if (QMPI_Register_tool_storage(id, calloc(1, sizeof(struct instance))))
        abort();
#ifndef WITHOUT_HANDLES
    if (REGISTER(SEND, Send) || REGISTER(WAIT, Wait) || REGISTER(FILE_CLOSE, File_close))
        abort();
#endif
    if (REGISTER(WTIME, Wtime) || REGISTER(INIT, Init) || REGISTER(FINALIZE, Finalize))
        abort();
}

__attribute__((constructor)) static void announce(void)
{
    if (QMPI_Register_tool_name(NAME, init))
        abort();
}

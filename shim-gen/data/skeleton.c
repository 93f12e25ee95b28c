/* @NAME@: a QMPI tool, started by `shim-gen skeleton`. From here on it is yours.
 *
 *   mpicc -shared -fPIC -I DIRECTORY_OF_QMPI_H -o lib@NAME@.so @NAME@.c
 *   qmpi run -t ./lib@NAME@.so mpiexec -n 4 ./program
 *
 * A tool may stand in the stack more than once: then there are several instances, and all that belongs to one of them is in
 * struct instance, not in global variables.
 */
@INCLUDES@
#include <qmpi.h>

#include <stdlib.h>

/* The intercepted functions. One more needs: its name here, its number in `numbers`, a wrapper, a line in `initialize`. */
enum {
@PLACES@
    FUNCTIONS
};

static const int numbers[FUNCTIONS] = {
@NUMBERS@
};

/* What is called next: the function of another tool, or of the MPI library. */
struct next {
    void (*function)(void);
    int tool_id;
};

/* One instance of this tool. */
struct instance {
    int cached;
    struct next next[FUNCTIONS];
    /* TODO: what the tool gathers. With MPI_THREAD_MULTIPLE, wrappers run in several threads at once. */
};

/* Asks what comes next for every function. The answers never change, so this is done once: at the first intercepted call, which
 * is MPI_Init, MPI_Init_thread or MPI_Session_init unless the program asks MPI something even earlier. */
static void cache(struct instance *self, int tool_id)
{
    int place;

    for (place = 0; place < FUNCTIONS; place++) {
        QMPI_Get_function(tool_id, numbers[place], &self->next[place].function, &self->next[place].tool_id);
    }
    self->cached = 1;
}

/* The instance that a wrapper runs for. */
static struct instance *instance_of(QMPI_Context context, int tool_id)
{
    void *storage = NULL;
    struct instance *self;

    QMPI_Get_tool_storage(context, tool_id, &storage);
    self = storage;
    if (!self->cached) {
        cache(self, tool_id);
    }
    return self;
}

/* --- Wrappers ------------------------------------------------------------------------------------------------------
 *
 * Each has the arguments of its MPI function behind a context, which is passed on unread, and the instance's id. To call other MPI
 * functions, add them to the list above and call them through self->next: calling MPI_Comm_rank itself would start at the
 * first tool again, this one included. */
@WRAPPER@
@TYPEDEF@
@HEAD@
{
    struct instance *self = instance_of(context, tool_id);
    const struct next *next = &self->next[NEXT_@STEM@];
@RESULT@
    /* TODO: before the call */
@VARIADIC@@KEEP@
    /* TODO: after the call */
@RETURN@}
@END@

/* --- Start --------------------------------------------------------------------------------------------------------- */

/* Runs once for each instance, no later than the program's first MPI call. Other tools may not be ready yet: no MPI calls. */
static void initialize(int tool_id)
{
    struct instance *self = calloc(1, sizeof *self);

    if (self == NULL) {
        return; /* Intercepts nothing. */
    }
    QMPI_Register_tool_storage(tool_id, self);
@REGISTRATIONS@
}

/* Runs when the library is loaded. A library may announce several tools, each with an `initialize` of its own. */
__attribute__((constructor)) static void announce(void)
{
    QMPI_Register_tool_name("@NAME@", initialize);
}

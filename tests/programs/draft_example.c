//# role: companion
//# lang: c
//# mpi: both
//# cflags: -I../bridge/include
/* draft_example: a tool that uses every function of the draft chapter through a pointer of the type that the chapter prints, and the
 * function of its example. Where it differs:
 *
 *     MPI_Register_tool_name                   the chapter leaves its C binding out: this is the slides', page 13
 *     MPI_Get_next_tool_function               `void (*function_ptr)(void)` lacks a star, which an OUT argument must have
 *     MPI_Send(QMPI_Context, int tool_id, ...) is MPI_Send itself by name; it prints the shape of the tool's function
 */
#include <mpi.h>
#include <qmpi.h>
#include <stdio.h>

static int (*const register_tool_name)(const char *tool_name, MPI_Tool_init_function *init_fn_ptr) = MPI_Register_tool_name;
static int (*const register_tool_storage)(int tool_id, void *tool_storage) = MPI_Register_tool_storage;
static int (*const register_tool_function)(int tool_id, enum MPI_Functions_enum function_enum,
                                           void (*function_ptr)(void)) = MPI_Register_tool_function;
static int (*const get_next_tool_function)(int tool_id, enum MPI_Functions_enum function_enum, void (**function_ptr)(void),
                                           int *next_tool_id) = MPI_Get_next_tool_function;
static int (*const get_tool_storage)(MPI_Context context, int tool_id, void *storage) = MPI_Get_tool_storage;
static int (*const get_calling_address)(MPI_Context context, void *address) = MPI_Get_calling_address;

/* The same interface under MPICH's names, whose functions have the enumeration as a type as well, until MPICH 4.2. */
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40200000
typedef int function_number;
#else
typedef enum QMPI_Functions_enum function_number;
#endif
static int (*const register_function)(int, function_number, void (*)(void)) = QMPI_Register_function;
static int (*const get_function)(int, function_number, void (**)(void), int *) = QMPI_Get_function;

typedef int shape_of_send(QMPI_Context, int tool_id, const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                          MPI_Comm comm);

/* Both types of what comes next have that shape. */
static QMPI_Send_t *const same_as_mpich = (shape_of_send *)0;
static MPI_Send_t *const same_as_slides = (shape_of_send *)0;

struct storage {
    int tool_id, sends, callers;
};

static int my_send(QMPI_Context context, int tool_id, const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                   MPI_Comm comm)
{
    struct storage *storage;
    shape_of_send *next, *same;
    void *address = NULL;
    int next_tool_id, same_id;
    get_tool_storage(context, tool_id, &storage);
    get_calling_address(context, &address);
    get_next_tool_function(tool_id, MPI_SEND_T, (void (**)(void))&next, &next_tool_id);
    get_function(tool_id, MPI_SEND_T, (void (**)(void))&same, &same_id);
    storage->callers += address != NULL;
    storage->sends += storage->tool_id == tool_id && same == next && same_id == next_tool_id;
    return next(context, next_tool_id, buf, count, datatype, dest, tag, comm);
}

static struct storage storages[2];

static void init(int tool_id)
{
    struct storage *storage = &storages[storages[0].tool_id != 0];
    storage->tool_id = tool_id;
    register_tool_storage(tool_id, storage);
    register_function(tool_id, MPI_SEND_T, (void (*)(void))init);
    register_tool_function(tool_id, MPI_SEND_T, (void (*)(void))my_send);
}

__attribute__((constructor)) static void announce(void)
{
    register_tool_name("draft", init);
}

__attribute__((destructor)) static void report(void)
{
    for (int i = 0; i < 2; i++)
        if (storages[i].sends)
            printf("draft %d: %d sends, %d callers\n", storages[i].tool_id, storages[i].sends, storages[i].callers);
    (void)same_as_mpich;
    (void)same_as_slides;
}

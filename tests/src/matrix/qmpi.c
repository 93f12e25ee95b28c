/* A QMPI tool with a function for every function. NAME is what it registers.
 *
 * Functions are meant by number and by name in turns, and both answers about what comes next must be the same. The numbers
 * are those that every MPI's numbering understands (QMPIX_FUNCTION_BASE in qmpi.h). */
#define NUMBER(f) (0x10000 + (f))

typedef struct {
    void **storage_stack;
} QMPI_Context;
typedef void function(void);
int QMPI_Register_tool_name(const char *name, void (*init)(int tool));
int QMPI_Register_tool_storage(int tool, void *storage);
int QMPI_Register_function(int tool, int number, function *pointer);
int QMPIX_Register_function_by_name(int tool, const char *name, function *pointer);
int QMPI_Get_function(int tool, int number, function **pointer, int *next);
int MPI_Get_next_tool_function(int tool, int number, function **pointer, int *next);
int QMPIX_Get_function_by_name(int tool, const char *name, function **pointer, int *next);
int QMPI_Get_tool_storage(QMPI_Context context, int tool, void **storage);
int QMPI_Get_calling_address(QMPI_Context context, void **address);

struct storage {
    int tool;
};

static function *next_of(int f, const char *name, QMPI_Context context, int tool, int *next)
{
    void *storage = NULL, *address = NULL;
    function *by_number = NULL, *by_name = NULL;
    int next_by_name = -1, bad;
    *next = -1;
    bad = QMPI_Get_tool_storage(context, tool, &storage) | QMPI_Get_calling_address(context, &address);
    enter(f, storage, address, tool);
    if (bad || !storage || ((struct storage *)storage)->tool != tool)
        complain(the_trace(), "q: %s: the storage is not that of tool %d\n", name, tool);
    bad = f % 2 ? QMPI_Get_function(tool, NUMBER(f), &by_number, next)
                : MPI_Get_next_tool_function(tool, NUMBER(f), &by_number, next);
    bad |= QMPIX_Get_function_by_name(tool, name, &by_name, &next_by_name);
    if (bad || by_number != by_name || *next != next_by_name || *next == tool)
        complain(the_trace(), "q: %s: next is %p of tool %d by number, %p of tool %d by name\n", name,
                 (void *)by_number, *next, (void *)by_name, next_by_name);
    return by_number;
}

#define WRAP(f, name, words)                                                                 \
    static word tool_##name(QMPI_Context context, int tool MORE_PARAMS_##words)              \
    {                                                                                        \
        int next;                                                                            \
        word (*down)(QMPI_Context, int MORE_TYPES_##words) =                                 \
            (word (*)(QMPI_Context, int MORE_TYPES_##words))next_of(f, #name, context, tool, &next); \
        CHECK_##words(f)                                                                     \
        return checked(f, down(context, next MORE_ARGS_##words));                            \
    }
#define WRAP_REAL(f, name)                                                                   \
    static double tool_##name(QMPI_Context context, int tool)                                \
    {                                                                                        \
        int next;                                                                            \
        double (*down)(QMPI_Context, int) = (double (*)(QMPI_Context, int))next_of(f, #name, context, tool, &next); \
        return checked_real(f, down(context, next));                                         \
    }
FUNCTIONS(WRAP, WRAP_REAL)
VENDOR_FUNCTIONS(WRAP)

static word tool_Pcontrol(QMPI_Context context, int tool, word level, ...)
{
    int next;
    va_list list;
    word (*down)(QMPI_Context, int, word, ...) =
        (word (*)(QMPI_Context, int, word, ...))next_of(PCONTROL, "MPI_Pcontrol", context, tool, &next);
    va_start(list, level);
    check_pcontrol(level, list);
    va_end(list);
    return checked(PCONTROL, down(context, next, level, PCONTROL_MORE));
}

static void initialize(int tool)
{
    struct storage *storage = malloc(sizeof *storage);
    int bad;
    storage->tool = tool;
    bad = QMPI_Register_tool_storage(tool, storage);
#define REGISTER(f, name, words)                                                                  \
    bad |= f % 3 ? QMPI_Register_function(tool, NUMBER(f), (function *)tool_##name)               \
                 : QMPIX_Register_function_by_name(tool, #name, (function *)tool_##name);
#define REGISTER_REAL(f, name) REGISTER(f, name, 0)
    FUNCTIONS(REGISTER, REGISTER_REAL)
    VENDOR_FUNCTIONS(REGISTER)
    bad |= QMPI_Register_function(tool, NUMBER(PCONTROL), (function *)tool_Pcontrol);
    if (bad)
        puts("q: a registration failed");
}

__attribute__((constructor)) static void announce(void)
{
    QMPI_Register_tool_name(NAME, initialize);
}

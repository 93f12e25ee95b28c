/* A tool of the 2018 thesis with a wrapper for each of its functions; qmpi_thesis.h stands before this.
 *
 * A wrapper goes on by QMPI_Get_level and a call of its own, or by exec_func, which returns an int: by turns. */
struct context {
    int level;
};

static void *visited(int f, int level, vector *v)
{
    struct context *context = QMPI_Get_context(v, level);
    if (!context) {
        struct context mine = { level };
        QMPI_Set_context(v, level, &mine, sizeof mine);
        context = QMPI_Get_context(v, level);
    }
    enter(f, context, NULL, level);
    if (!context || context->level != level || level < 1 || level >= vector_total(v) || v->items[level]->context != context)
        complain(the_trace(), "t: function %d: the context is not that of level %d of %d\n", f, level, vector_total(v));
    return context;
}

static void *next_of(int f, int number, int level, vector *v)
{
    void *next = NULL;
    if (QMPI_Table_query(number, &next, vector_get(v, level)->table) != 0 || !next
        || v->items[level]->table[number].func_ptr != next)
        complain(the_trace(), "t: function %d: nothing comes next\n", f);
    return next;
}

static word checked_int(int f, int result)
{
    if (result != (int)RESULT(f))
        complain(the_trace(), "t: function %d: the result is %x, not %x\n", f, result, (int)RESULT(f));
    return RESULT(f);
}

#define WRAP(f, name, words, number)                                                                      \
    word tool_##name(FIRST_PARAMS_##words int level, vector *v)                                           \
    {                                                                                                     \
        void *next;                                                                                       \
        visited(f, level, v);                                                                             \
        CHECK_##words(f)                                                                                  \
        next = next_of(f, number, level, v);                                                              \
        if (number % 2)                                                                                   \
            return checked_int(f, exec_func(next, level, number, v MORE_ARGS_##words));                   \
        return checked(f, ((word (*)(FIRST_TYPES_##words int, vector *))next)(                            \
                              FIRST_ARGS_##words QMPI_Get_level(level, number, v), v));                   \
    }
#define WRAP_REAL(f, name, number)                                                                        \
    double tool_##name(int level, vector *v)                                                              \
    {                                                                                                     \
        void *next;                                                                                       \
        visited(f, level, v);                                                                             \
        next = next_of(f, number, level, v);                                                              \
        return checked_real(f, ((double (*)(int, vector *))next)(QMPI_Get_level(level, number, v), v));   \
    }
THESIS_FUNCTIONS(WRAP, WRAP_REAL)

/* Delivered to every tool, which does not pass it on; of the words there is only the first. */
void tool_MPI_Pcontrol(int first, int level, vector *v)
{
    visited(PCONTROL, level, v);
    if (first != (int)PCONTROL_LEVEL)
        complain(the_trace(), "t: MPI_Pcontrol: argument 1 is %x\n", first);
}

char *get_interceptions(int number)
{
#define NAMED(f, name, words, its_number) [its_number] = "tool_" #name,
#define NAMED_REAL(f, name, its_number) NAMED(f, name, 0, its_number)
    static const char *const names[NUM_MPI_FUNCS] = { THESIS_FUNCTIONS(NAMED, NAMED_REAL)[THESIS_PCONTROL] =
                                                          "tool_MPI_Pcontrol" };
    return (char *)(names[number] ? names[number] : "NULL");
}

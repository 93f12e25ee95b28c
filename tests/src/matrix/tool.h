/* What the tools of the matrix have in common. KIND is the letter of the tool. */
static struct trace *the_trace(void)
{
    static struct trace *trace, before_main;
    if (!trace) {
        const char *text = getenv("MATRIX_TRACE");
        if (!text) {
            /* The runtime itself, which asks the library in the place of MPI for its version. */
            before_main.wrong = 1000;
            return &before_main;
        }
        trace = (struct trace *)strtoull(text, NULL, 0);
    }
    return trace;
}

__attribute__((unused)) static void enter(int function, const void *instance, const void *caller, int id)
{
    struct trace *trace = the_trace();
    if (trace->visits < 16)
        trace->visit[trace->visits] = (struct visit){ KIND, instance, caller, id, function };
    trace->visits++;
}

__attribute__((unused)) static void check(int function, int k, word found)
{
    if (found != WORD(function, k))
        complain(the_trace(), "%c: function %d: argument %d is %llx, not %llx\n", KIND, function, k, found,
                 WORD(function, k));
}

__attribute__((unused)) static word checked(int function, word result)
{
    if (result != RESULT(function))
        complain(the_trace(), "%c: function %d: the result is %llx, not %llx\n", KIND, function, result,
                 RESULT(function));
    return RESULT(function);
}

__attribute__((unused)) static double checked_real(int function, double result)
{
    if (result != REAL_RESULT(function))
        complain(the_trace(), "%c: function %d: the result is %g, not %g\n", KIND, function, result,
                 REAL_RESULT(function));
    return REAL_RESULT(function);
}

__attribute__((unused)) static void check_pcontrol(word level, va_list list)
{
    check(PCONTROL, 1, level);
    for (int k = 1; k <= PCONTROL_WORDS; k++)
        check(PCONTROL, k + 1, va_arg(list, word));
    for (int k = 1; k <= PCONTROL_DOUBLES; k++) {
        double found = va_arg(list, double);
        if (found != PCONTROL_DOUBLE(k))
            complain(the_trace(), "%c: MPI_Pcontrol: double %d is %g, not %g\n", KIND, k, found, PCONTROL_DOUBLE(k));
    }
}

/* OLD: a tool from before MPI-4, with a wrapper of each `function`. Otherwise the layer below it, with a wrapper of each `function_c`.
 * Both answer calls themselves. */
static void check_array(struct call *call, int k, word got)
{
    const long long *wide = (const long long *)call->arguments[k];
    const int *narrow = (const int *)got;
    if (!wide || !narrow) {
        if (wide != (const long long *)narrow)
            complain(call, "argument %d: null became %#llx, or the other way round", k, got);
        return;
    }
    for (int i = 0; i < call->lengths[k]; i++)
        if (narrow[i] != wide[i])
            complain(call, "argument %d: element %d is %d instead of %lld", k, i, narrow[i], wide[i]);
}

static word visit(const char *name, int words, const word *got)
{
    struct call *call = call_under_way();
    size_t length = strlen(name);
#ifdef OLD
    int is_it = strcmp(name, call->function) == 0;
#else
    int is_it = strncmp(name, call->function, length - 2) == 0 && strlen(call->function) == length - 2;
#endif
    if (!is_it)
        complain(call, "arrived as %s", name);
    for (int k = 0; k < words; k++) {
        char letter = call->pattern[k];
#ifdef OLD
        if (letter == 'c') {
            if ((int)got[k] != (long long)call->arguments[k])
                complain(call, "argument %d is %d instead of %lld", k, (int)got[k], (long long)call->arguments[k]);
            continue;
        }
        if (strchr("nNsd", letter)) {
            check_array(call, k, got[k]);
            continue;
        }
#endif
        if (got[k] != call->arguments[k])
            complain(call, "argument %d is %#llx instead of %#llx", k, got[k], call->arguments[k]);
    }
#ifdef OLD
    call->seen++;
#else
    call->past++;
#endif
    return 17 + words;
}

#ifdef OLD
#define F(name, words, pattern, past, side)                                                                                 \
    word name(PARAMETERS_##words)                                                                                       \
    {                                                                                                                   \
        word got[] = {ARGUMENTS_##words};                                                                               \
        return visit(#name, words, got);                                                                                \
    }
#else
#define F(name, words, pattern, past, side)                                                                                 \
    word name##_c(PARAMETERS_##words)                                                                                   \
    {                                                                                                                   \
        word got[] = {ARGUMENTS_##words};                                                                               \
        return visit(#name "_c", words, got);                                                                           \
    }
#endif
FUNCTIONS(F)

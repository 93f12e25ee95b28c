/* A PMPI tool with a wrapper for every function. With SINK it is the end of the chain: it returns the result that all
 * layers above expect, and the MPI library never sees the words, which mean nothing to it. */
static const char instance;

#ifdef SINK
#define DOWN(f, name, words) RESULT(f)
#define DOWN_REAL(f, name) REAL_RESULT(f)
#else
#define DOWN(f, name, words) P##name(ARGS_##words)
#define DOWN_REAL(f, name) P##name()
#endif

#define WRAP(f, name, words)                                      \
    word P##name(PARAMS_##words);                                 \
    word name(PARAMS_##words)                                     \
    {                                                             \
        enter(f, &instance, __builtin_return_address(0), 0);      \
        CHECK_##words(f)                                          \
        return checked(f, DOWN(f, name, words));                  \
    }
#define WRAP_REAL(f, name)                                        \
    double P##name(void);                                         \
    double name(void)                                             \
    {                                                             \
        enter(f, &instance, __builtin_return_address(0), 0);      \
        return checked_real(f, DOWN_REAL(f, name));               \
    }

#ifndef SINK
/* Open MPI's own extensions have no name in the profiling interface. */
#define WITHOUT_PROFILING_NAME(f, name, words)                    \
    static word P##name(PARAMS_##words)                           \
    {                                                             \
        word (*next)(TYPES_##words) = dlsym(RTLD_NEXT, #name);    \
        return next(ARGS_##words);                                \
    }
VENDOR_FUNCTIONS(WITHOUT_PROFILING_NAME)
#define WRAP_VENDOR(f, name, words)                               \
    word name(PARAMS_##words)                                     \
    {                                                             \
        enter(f, &instance, __builtin_return_address(0), 0);      \
        CHECK_##words(f)                                          \
        return checked(f, P##name(ARGS_##words));                 \
    }
#else
#define WRAP_VENDOR WRAP
#endif

FUNCTIONS(WRAP, WRAP_REAL)
VENDOR_FUNCTIONS(WRAP_VENDOR)

/* Who can call PMPI_Pcontrol is trusted to do so. The sink could, and the chain ends there; behind one that keeps the call
 * for itself it goes on without its help. */
#ifndef KEEPS_PCONTROL
#pragma weak PMPI_Pcontrol
word PMPI_Pcontrol(word level, ...);
#endif

word MPI_Pcontrol(word level, ...)
{
    va_list list;
    enter(PCONTROL, &instance, __builtin_return_address(0), 0);
    va_start(list, level);
    check_pcontrol(level, list);
    va_end(list);
#if defined SINK
    if (the_trace()->visits < 0)
        PMPI_Pcontrol(level);
    return RESULT(PCONTROL);
#elif defined KEEPS_PCONTROL
    return 0;
#else
    return checked(PCONTROL, PMPI_Pcontrol(level, PCONTROL_MORE));
#endif
}

/* A PMPI tool with a wrapper for every function. With SINK it is the end of the chain: it returns the result that all
 * layers above expect, and the MPI library never sees the words, which mean nothing to it. With LIBRARY that end takes the
 * place of the MPI library itself. */
static const char instance;

#ifdef SINK
#define DOWN(f, name, words) RESULT(f)
#define DOWN_REAL(f, name) REAL_RESULT(f)
#else
#define DOWN(f, name, words) P##name(ARGS_##words)
#define DOWN_REAL(f, name) P##name()
#endif

#ifdef LIBRARY
#define BOTH_NAMES(name) __typeof__(P##name) name __attribute__((weak, alias("P" #name)));
#define DEFINED(name) P##name
#else
#define BOTH_NAMES(name)
#define DEFINED(name) name
#endif

#define WRAP(f, name, words)                                      \
    word P##name(PARAMS_##words);                                 \
    word DEFINED(name)(PARAMS_##words)                            \
    {                                                             \
        enter(f, &instance, __builtin_return_address(0), 0);      \
        CHECK_##words(f)                                          \
        return checked(f, DOWN(f, name, words));                  \
    }                                                             \
    BOTH_NAMES(name)
#define WRAP_REAL(f, name)                                        \
    double P##name(void);                                         \
    double DEFINED(name)(void)                                    \
    {                                                             \
        enter(f, &instance, __builtin_return_address(0), 0);      \
        return checked_real(f, DOWN_REAL(f, name));               \
    }                                                             \
    BOTH_NAMES(name)

/* Open MPI's own extensions have no name in the profiling interface. */
#ifndef SINK
#define WITHOUT_PROFILING_NAME(f, name, words)                    \
    static word P##name(PARAMS_##words)                           \
    {                                                             \
        word (*next)(TYPES_##words) = dlsym(RTLD_NEXT, #name);    \
        return next(ARGS_##words);                                \
    }
VENDOR_FUNCTIONS(WITHOUT_PROFILING_NAME)
#endif
#define WRAP_VENDOR(f, name, words)                               \
    word name(PARAMS_##words)                                     \
    {                                                             \
        enter(f, &instance, __builtin_return_address(0), 0);      \
        CHECK_##words(f)                                          \
        return checked(f, DOWN(f, name, words));                  \
    }

FUNCTIONS(WRAP, WRAP_REAL)
VENDOR_FUNCTIONS(WRAP_VENDOR)

/* A tool that refers to PMPI_Pcontrol is trusted to call it. The sink refers to it, and the chain ends there; behind a tool
 * that keeps the call for itself the chain goes on without its help. */
#if !defined KEEPS_PCONTROL && !defined LIBRARY
#pragma weak PMPI_Pcontrol
word PMPI_Pcontrol(word level, ...);
#endif

word DEFINED(MPI_Pcontrol)(word level, ...)
{
    va_list list;
    enter(PCONTROL, &instance, __builtin_return_address(0), 0);
    va_start(list, level);
    check_pcontrol(level, list);
    va_end(list);
#if defined LIBRARY
    return RESULT(PCONTROL);
#elif defined SINK
    if (the_trace()->visits < 0)
        PMPI_Pcontrol(level);
    return RESULT(PCONTROL);
#elif defined KEEPS_PCONTROL
    return 0;
#else
    return checked(PCONTROL, PMPI_Pcontrol(level, PCONTROL_MORE));
#endif
}
BOTH_NAMES(MPI_Pcontrol)

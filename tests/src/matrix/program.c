/* Calls every function, through the address that dlsym finds and through a call that the linker binds, each with words of
 * its own, and compares the layers that saw the call with the stack: `program STACK [N]`, a letter for each layer, outermost first;
 * the first N are tools of the application's own.
 *
 * MPI is never initialized: the sink, which is the innermost layer, lets nothing through to it. Where the sink is in the place
 * of the MPI library (LIBRARY), the name-shifted functions are called as well, which go there past all layers. */
static struct trace trace;

#define WRAP(f, name, words)                                                  \
    word name(TYPES_##words);                                                 \
    word plain_##name(void) { return name(WORDS_##words(f)); }                \
    word pointer_##name(void *address)                                        \
    {                                                                         \
        return ((word (*)(TYPES_##words))address)(WORDS_##words(f));          \
    }
#define WRAP_REAL(f, name)                                                    \
    double name(void);                                                        \
    double plain_##name(void) { return name(); }                              \
    double pointer_##name(void *address) { return ((double (*)(void))address)(); }
FUNCTIONS(WRAP, WRAP_REAL)
VENDOR_FUNCTIONS(WRAP)

word MPI_Pcontrol(word level, ...);
word plain_MPI_Pcontrol(void) { return MPI_Pcontrol(PCONTROL_LEVEL, PCONTROL_MORE); }
word pointer_MPI_Pcontrol(void *address)
{
    return ((word (*)(word, ...))address)(PCONTROL_LEVEL, PCONTROL_MORE);
}

#ifdef LIBRARY
#define SHIFTED(f, name, words)                                                                                \
    word shifted_##name(void *address)                                                                         \
    {                                                                                                          \
        return ((word (*)(void *, int MORE_TYPES_##words))address)(&trace, -7 MORE_WORDS_##words(f));          \
    }
#define SHIFTED_REAL(f, name) \
    double shifted_##name(void *address) { return ((double (*)(void *, int))address)(&trace, -7); }
FUNCTIONS(SHIFTED, SHIFTED_REAL)
VENDOR_FUNCTIONS(SHIFTED)
word shifted_MPI_Pcontrol(void *address)
{
    return ((word (*)(void *, int, word, ...))address)(&trace, -7, PCONTROL_LEVEL, PCONTROL_MORE);
}
#endif

static const char *stack;
static const void *instances[16];
static int functions, calls, own_tools;

static int in_thesis(int function)
{
#define IS(f, name, words, number) || function == f
#define IS_REAL(f, name, number) || function == f
    return function == PCONTROL THESIS_FUNCTIONS(IS, IS_REAL);
}

/* Compares the visits with the stack. */
static void judge(const char *how, const char *name, int function, int result_is_right)
{
    int is_shifted = strcmp(how, "shifted_") == 0;
    char expected[17] = "", found[17] = "", site[100];
    int places[16], layers = 0;
    calls++;
    for (int place = is_shifted ? (int)strlen(stack) - 1 : 0; stack[place]; place++) {
        if (stack[place] == 't' && !in_thesis(function))
            continue;
        expected[layers] = stack[place];
        places[layers++] = place;
    }
    for (int i = 0; i < trace.visits && i < 16; i++)
        found[i] = trace.visit[i].kind;
    if (!result_is_right)
        complain(&trace, "%s%s: wrong result\n", how, name);
    if (trace.visits != layers || strcmp(expected, found) != 0) {
        complain(&trace, "%s%s: seen by \"%s\", not \"%s\"\n", how, name, found, expected);
        trace.visits = 0;
        return;
    }
    snprintf(site, sizeof site, "%s%s", how, name);
    for (int i = 0; i < layers; i++) {
        const struct visit *visit = &trace.visit[i];
        const void **known = &instances[places[i]];
        if (visit->function != function)
            complain(&trace, "%s: layer %d was called as function %d\n", site, places[i], visit->function);
        if (visit->id && visit->id != places[i] + 1 - own_tools)
            complain(&trace, "%s: layer %d has id %d\n", site, places[i], visit->id);
        if (!*known)
            *known = visit->instance;
        if (*known != visit->instance)
            complain(&trace, "%s: layer %d is another instance\n", site, places[i]);
        for (int other = 0; other < places[i]; other++)
            if (instances[other] == *known)
                complain(&trace, "%s: layers %d and %d are one instance\n", site, other, places[i]);
        /* Behind one that keeps MPI_Pcontrol for itself the chain goes on, so that one was called from a link; and how much
         * of the stack a name-shifted MPI_Pcontrol owns is unknown. */
        int called_by_link = function == PCONTROL && (visit->kind == 'd' || is_shifted);
        if (visit->kind == 'q' || (i == 0 && visit->kind != 't' && !called_by_link)) {
            Dl_info info = { 0 };
            int known_site = dladdr(visit->caller, &info) && info.dli_sname;
            /* Nothing stands between the program and a tool of its own: its call is the application's, too. */
            int is_right = known_site && (strcmp(info.dli_sname, site) == 0
                                          || (own_tools && i > 0 && strcmp(info.dli_sname, name) == 0));
            if (!is_right)
                complain(&trace, "%s: layer %d has %p as calling address, in %s of %s\n", site, places[i], visit->caller,
                         info.dli_sname ? info.dli_sname : "?", info.dli_fname ? info.dli_fname : "?");
        }
    }
    trace.visits = 0;
}

int main(int argc, char **argv)
{
    char address[32];
    void *pointer;
    if (argc < 2)
        return 2;
    stack = argv[1];
    own_tools = argc > 2 ? atoi(argv[2]) : 0;
    snprintf(address, sizeof address, "%p", (void *)&trace);
    setenv("MATRIX_TRACE", address, 1);
#define CALL_AS(f, name, expected)                                       \
    functions++;                                                         \
    pointer = dlsym(RTLD_DEFAULT, #name);                                \
    if (!pointer)                                                        \
        complain(&trace, "%s is not there\n", #name);                    \
    else                                                                 \
        judge("pointer_", #name, f, pointer_##name(pointer) == expected); \
    judge("plain_", #name, f, plain_##name() == expected);           \
    pointer = dlsym(RTLD_DEFAULT, "Q" #name);                            \
    if (!pointer)                                                        \
        complain(&trace, "Q%s is not there\n", #name);                   \
    CALL_SHIFTED(f, name, expected)
#ifdef LIBRARY
#define CALL_SHIFTED(f, name, expected) \
    if (pointer)                        \
        judge("shifted_", #name, f, shifted_##name(pointer) == expected);
#else
#define CALL_SHIFTED(f, name, expected)
#endif
#define CALL(f, name, words) CALL_AS(f, name, RESULT(f))
#define CALL_REAL(f, name) CALL_AS(f, name, REAL_RESULT(f))
    FUNCTIONS(CALL, CALL_REAL)
    VENDOR_FUNCTIONS(CALL)
    CALL(PCONTROL, MPI_Pcontrol, 1)
    printf("matrix %s: %d functions, %d calls, %d wrong\n", stack, functions, calls, trace.wrong);
    return trace.wrong != 0;
}

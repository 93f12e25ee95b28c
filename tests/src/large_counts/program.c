/* Calls every function with large counts, with values that fit into an int and values that do not, and looks which layer got the call. */
#include <mpi.h>

static struct call call;
static int ranks, rank, sources, destinations;
static word world, graph;
static int calls;

static const word RANDOM = 0x9E3779B97F4A7C15ull;

/* Elements of arrays; the last that MPI reads is `last`. */
static long long values[MOST][8];

struct function {
    const char *name, *pattern;
    int words, past, side;
    word (*make)(const word *);
};

#define F(name, words, pattern, past, side)                                                                                 \
    extern word name##_with_words(PARAMETERS_##words) __asm__(#name "_c");                                              \
    static word make_##name(const word *a) { return name##_with_words(ELEMENTS_##words); }
FUNCTIONS(F)
#undef F
#define F(name, words, pattern, past, side) {#name, pattern, words, past, side, make_##name},
static const struct function all[] = {FUNCTIONS(F)};
#undef F

static void prepare(const struct function *f, int index)
{
    memset(&call, 0, sizeof call);
    call.function = f->name;
    call.pattern = f->pattern;
    int is_neighbors = strstr(f->name, "eighbor") != NULL;
    for (int k = 0; k < f->words; k++) {
        word *argument = &call.arguments[k];
        call.lengths[k] = -1;
        switch (f->pattern[k]) {
        case 'c':
            *argument = k + 1;
            break;
        case 'n':
        case 'N':
            call.lengths[k] = f->pattern[k] == 'N' && rank != 0 ? -1 : ranks;
            break;
        case 's':
            call.lengths[k] = sources;
            break;
        case 'd':
            call.lengths[k] = destinations;
            break;
        case 'C':
            *argument = is_neighbors ? graph : world;
            break;
        case 'r':
            *argument = 0;
            break;
        default:
            *argument = RANDOM * (index * 64 + k + 1);
        }
        if (strchr("nNsd", f->pattern[k])) {
            for (int i = 0; i < 8; i++)
                values[k][i] = 10 * k + i;
            *argument = (word)values[k];
        }
    }
}

static void make(const struct function *f, int fits, const char *what)
{
    call.seen = call.past = 0;
    word result = f->make(call.arguments);
    int seen = fits && !f->past;
    if (call.seen != seen || call.past != !seen)
        complain(&call, "%s: %d calls to the old tool and %d past it, %d and %d expected", what, call.seen, call.past, seen, !seen);
    if ((int)result != 17 + f->words)
        complain(&call, "%s: the result is %d", what, (int)result);
    calls++;
}

static int wrong;

static void check(const struct function *f, int index)
{
    static const long long fit[] = {0, 1, INT_MAX, -1, INT_MIN};
    static const long long large[] = {INT_MAX + 1ll, INT_MIN - 1ll, 1ll << 32, LLONG_MAX, LLONG_MIN};
    prepare(f, index);
    make(f, 1, "small values");
    for (int k = 0; k < f->words; k++) {
        char letter = f->pattern[k];
        if (letter == 'c') {
            word before = call.arguments[k];
            for (int i = 0; i < 5; i++) {
                call.arguments[k] = fit[i];
                make(f, 1, "a count that fits");
                call.arguments[k] = large[i];
                make(f, 0, "a count that does not fit");
            }
            call.arguments[k] = before;
        } else if (call.lengths[k] >= 0 && strchr("nNsd", letter)) {
            int length = call.lengths[k];
            for (int i = 0; i < length; i++) {
                long long before = values[k][i];
                for (int j = 0; j < 5; j++) {
                    values[k][i] = fit[j];
                    make(f, 1, "an element that fits");
                    values[k][i] = large[j];
                    make(f, 0, "an element that does not fit");
                }
                values[k][i] = before;
            }
            values[k][length] = LLONG_MAX;
            make(f, 1, "an element behind the array");
            word array = call.arguments[k];
            call.arguments[k] = 0;
            make(f, 1, "no array");
            call.arguments[k] = array;
        } else if (strchr("nNsd", letter)) {
            /* Not at the root: nothing may be read. */
            call.arguments[k] = 0;
            make(f, 1, "no array where none is read");
            call.arguments[k] = (word)values[k];
            values[k][0] = LLONG_MAX;
            make(f, 1, "a large element where none is read");
            values[k][0] = 0;
        }
    }
    if (f->side) {
        call.arguments[0] = (word)MPI_IN_PLACE;
        for (int k = 1; k < f->side; k++) {
            if (!strchr("nNsd", f->pattern[k]))
                continue;
            call.lengths[k] = -1;
            call.arguments[k] = 0;
        }
        make(f, 1, "MPI_IN_PLACE");
    }
    wrong += call.wrong;
}

int main(int argc, char **argv)
{
    char address[32];
    MPI_Init(&argc, &argv);
    snprintf(address, sizeof address, "%llx", (word)&call);
    setenv("LARGE_COUNTS_CALL", address, 1);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    /* 0 -> 1, 0 -> 2, 1 -> 2 */
    int in[2] = {0, 1}, out[2] = {rank + 1, 2};
    sources = rank;
    destinations = ranks - 1 - rank;
    MPI_Comm with_graph, communicator = MPI_COMM_WORLD;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, sources, in, MPI_UNWEIGHTED, destinations, out, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &with_graph);
    memcpy(&world, &communicator, sizeof communicator);
    memcpy(&graph, &with_graph, sizeof with_graph);
    for (int i = 0; i < (int)(sizeof all / sizeof *all); i++)
        check(&all[i], i);
    printf("rank %d: %d functions, %s\n", rank, (int)(sizeof all / sizeof *all), wrong ? "WRONG" : "right");
    MPI_Comm_free(&with_graph);
    MPI_Finalize();
    return wrong != 0;
}

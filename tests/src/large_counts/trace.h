/* What the tools and the program of `large_counts.rs` have in common: the call that the program makes next, and which layers saw it.
 *
 * In front of this stands the table as macros: FUNCTIONS(F) with F(function, words, pattern, past, side), one row for each function that
 * has a form with large counts, `function_c`. `pattern` has a letter for each argument:
 *
 *   c   a count or a displacement: `int` in `function`, 64 bits in `function_c`
 *   n   an array of these, an element for each rank of the communicator
 *   N   the same, read at the root alone
 *   s   ... for each neighbor that a rank receives from
 *   d   ... for each neighbor that a rank sends to
 *   C   a communicator
 *   r   the rank of the root
 *   w   any other word
 *
 * `past` is 1 for functions that are never adapted. With MPI_IN_PLACE as the first argument the arrays in front of place `side` have no
 * meaning.
 *
 * All arguments are words, so that one file holds for every MPI. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long word;

#define MOST 13

/* The call that is under way. In the program; its address is in the environment, as a private namespace does not see the program's
 * symbols. */
struct call {
    const char *function; /* without _c */
    const char *pattern;
    word arguments[MOST];
    int lengths[MOST]; /* of arrays; -1: the array has no meaning in this call */
    int seen, past;    /* how often it came to the layer with `function`, and to the one with `function_c` */
    int wrong;
};

static void complain(struct call *call, const char *format, ...)
{
    va_list list;
    if (++call->wrong > 20)
        return;
    printf("%s: ", call->function);
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
}

static inline struct call *call_under_way(void)
{
    const char *text = getenv("LARGE_COUNTS_CALL");
    return text ? (struct call *)strtoull(text, NULL, 16) : NULL;
}

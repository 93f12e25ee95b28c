/* What an awkward tool says about itself, in one line on stdout when the program ends its use of MPI:
 *
 *     tool rtld_next: ok calls=12            by rank 0
 *     tool rtld_next: FAILED MPI_Send is 0   by any rank that saw something wrong
 *
 * A test compares the lines of a run under LD_PRELOAD with those of another way to load the same tool. The
 * line is left in stdio's buffer on purpose: that it is flushed at exit belongs to what is compared.
 * Everything here is static, so that every copy of a tool has its own. */
#ifndef VERDICT_H
#define VERDICT_H

#include <stdarg.h>
#include <stdio.h>

static int verdict_calls;
static char verdict_failure[160];

/* Counts one call of a wrapped function; any thread may call it. */
static inline void count_call(void) { __atomic_add_fetch(&verdict_calls, 1, __ATOMIC_RELAXED); }

/* Remembers what went wrong; the first failure is the one reported. */
__attribute__((format(printf, 1, 2))) static inline void fail(const char *format, ...)
{
    if (verdict_failure[0])
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(verdict_failure, sizeof verdict_failure, format, args);
    va_end(args);
}

/* Prints the line, with `more` at its end if that is not empty. */
static inline void verdict(const char *tool, int rank, const char *more)
{
    if (verdict_failure[0])
        printf("tool %s: FAILED %s\n", tool, verdict_failure);
    else if (rank == 0)
        printf("tool %s: ok calls=%d%s%s\n", tool, verdict_calls, more[0] ? " " : "", more);
}

/* The same, with more to say than one string. */
__attribute__((format(printf, 3, 4)))
static inline void verdict_with(const char *tool, int rank, const char *format, ...)
{
    char more[400];
    va_list args;
    va_start(args, format);
    vsnprintf(more, sizeof more, format, args);
    va_end(args);
    verdict(tool, rank, more);
}

#endif

/* What the tools of the matrix and its program have in common: the words that a call carries, and the layers that saw it.
 *
 * In front of this stands the table of functions as macros: FUNCTIONS(F, D) with F(number, name, words) for each function,
 * D(number, name) for those that return a double; and for each number of words the lists that a definition, a call and a
 * check are made of. MPI_Pcontrol is none of them. All arguments are words: no type of MPI is needed, and none of an MPI's
 * prototypes is in the way. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long word;

/* Argument `k` of function `f`, counted from 1: all 64 bits differ from those of any other. */
#define WORD(f, k) (0x9E3779B97F4A7C15ull * ((f) * 64ull + (k)))
#define RESULT(f) WORD(f, 62)
#define REAL_RESULT(f) ((double)(RESULT(f) >> 12) / 3)

/* MPI_Pcontrol carries six words in registers, twelve on the stack, and a double in each of eight registers. */
#define PCONTROL_WORDS 17
#define PCONTROL_DOUBLES 8
#define PCONTROL_MORE                                                                                                   \
    PCONTROL_WORD(1), PCONTROL_WORD(2), PCONTROL_WORD(3), PCONTROL_WORD(4), PCONTROL_WORD(5), PCONTROL_WORD(6),         \
        PCONTROL_WORD(7), PCONTROL_WORD(8), PCONTROL_WORD(9), PCONTROL_WORD(10), PCONTROL_WORD(11), PCONTROL_WORD(12),  \
        PCONTROL_WORD(13), PCONTROL_WORD(14), PCONTROL_WORD(15), PCONTROL_WORD(16), PCONTROL_WORD(17),                  \
        PCONTROL_DOUBLE(1), PCONTROL_DOUBLE(2), PCONTROL_DOUBLE(3), PCONTROL_DOUBLE(4), PCONTROL_DOUBLE(5),             \
        PCONTROL_DOUBLE(6), PCONTROL_DOUBLE(7), PCONTROL_DOUBLE(8)
#define PCONTROL_LEVEL WORD(PCONTROL, 1)
#define PCONTROL_WORD(k) WORD(PCONTROL, (k) + 1)
#define PCONTROL_DOUBLE(k) ((double)(WORD(PCONTROL, 40 + (k)) >> 12) / 7)

/* A layer that a call came to. */
struct visit {
    char kind;            /* p, d, q, t; s for the sink */
    const void *instance; /* differs between instances */
    const void *caller;   /* p, d, s: return address; q: the calling address */
    int id;               /* q: tool id; t: level */
    int function;
};

/* In the program. Its address is in the environment, as a private namespace does not see the program's symbols. */
struct trace {
    int visits;
    int wrong;
    struct visit visit[16];
};

static void complain(struct trace *trace, const char *format, ...)
{
    va_list list;
    if (++trace->wrong > 20)
        return;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
}

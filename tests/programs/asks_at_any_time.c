//# role: companion
//# lang: c
//# mpi: both
//# libs: -ldl
/* asks_at_any_time: a PMPI tool that asks the dynamic linker, and for its environment, in its constructor and in the handler of a
 * signal, as profilers do; and counts what that took of the heap.
 *
 * The program (interrupted_in_malloc.c) has the heap's functions: allocations() says how often this thread has called one. Rank 0
 * says at the end, for each question, how many calls there were at most:
 *
 *     asks: getenv: 0 in the constructor, 0 in a handler, 0 with a message pending */
#define _GNU_SOURCE
#include "../../legacy-tools/oldest_glibc.h"
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*Function)(void);

static long (*allocations)(void);
static int (*message_is_pending)(void);
static struct sigaction before;
static int wrong;

static int one_object(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && (ElfW(Addr))&wrong - info->dlpi_addr - p->p_vaddr < p->p_memsz)
            *(int *)found = 1;
    }
    return 0;
}

static int asks_getenv(void) { return getenv("ASKS_PLUGIN") && !getenv("ASKS_NOTHING"); }
static int asks_secure_getenv(void) { return secure_getenv("ASKS_PLUGIN") != NULL; }
static int asks_next(void) { return dlsym(RTLD_NEXT, "MPI_Send") && dlsym(RTLD_NEXT, "PMPI_Send"); }
static int asks_next_outside_mpi(void) { return dlsym(RTLD_NEXT, "malloc") != NULL; }
static int asks_own(void) { return dlsym(RTLD_DEFAULT, "function_of_tool") != NULL; }
static int asks_program(void) { return dlsym(RTLD_DEFAULT, "function_of_program") != NULL; }
static int asks_plugin(void) { return dlsym(RTLD_DEFAULT, "opened_part") != NULL; }
static int asks_version(void) { return dlvsym(RTLD_DEFAULT, "getenv", OLDEST_GLIBC) != NULL; }

static int asks_objects(void)
{
    int found = 0;
    dl_iterate_phdr(one_object, &found);
    return found;
}

void function_of_tool(void) {}

static struct {
    const char *name;
    int (*ask)(void);
    long in_constructor, in_handler, pending;
} questions[] = {
    { "getenv", asks_getenv, -1, -1, -1 },
    { "secure_getenv", asks_secure_getenv, -1, -1, -1 },
    { "dlsym of MPI", asks_next, -1, -1, -1 },
    { "dlsym of the C library", asks_next_outside_mpi, -1, -1, -1 },
    { "dlsym of the tool", asks_own, -1, -1, -1 },
    { "dlsym of the program", asks_program, -1, -1, -1 },
    { "dlsym of a plugin", asks_plugin, -1, -1, -1 },
    { "dlvsym", asks_version, -1, -1, -1 },
    { "dl_iterate_phdr", asks_objects, -1, -1, -1 },
};

enum { COUNT = sizeof questions / sizeof *questions };

static void ask(int number, long *most)
{
    long start = allocations();
    int right = questions[number].ask();
    long calls = allocations() - start;
    wrong += !right;
    if (calls > *most)
        *most = calls;
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    static int turn;
    int number = turn++ % COUNT;
    ask(number, message_is_pending() ? &questions[number].pending : &questions[number].in_handler);
    if (before.sa_flags & SA_SIGINFO && before.sa_sigaction)
        before.sa_sigaction(signal, info, context);
}

__attribute__((constructor)) static void start(void)
{
    struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };
    const char *plugin = getenv("ASKS_PLUGIN");
    allocations = (long (*)(void))dlsym(RTLD_DEFAULT, "allocations");
    message_is_pending = (int (*)(void))dlsym(RTLD_DEFAULT, "message_is_pending");
    if (!allocations || !message_is_pending || !plugin || !dlopen(plugin, RTLD_NOW | RTLD_GLOBAL))
        return;
    for (int i = 0; i < COUNT; i++)
        ask(i, &questions[i].in_constructor);
    sigaction(SIGUSR1, &action, &before);
}

int MPI_Finalize(void)
{
    int rank = -1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    signal(SIGUSR1, SIG_IGN);
    if (rank == 0) {
        for (int i = 0; i < COUNT; i++)
            printf("asks: %s: %ld in the constructor, %ld in a handler, %ld with a message pending\n", questions[i].name,
                   questions[i].in_constructor, questions[i].in_handler, questions[i].pending);
        printf("asks: %d wrong answers\n", wrong);
    }
    return PMPI_Finalize();
}

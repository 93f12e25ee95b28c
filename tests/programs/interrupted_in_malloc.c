//# role: companion
//# lang: c
//# mpi: both
//# cflags: -rdynamic -fno-builtin
//# libs: -ldl
/* A program that is interrupted in malloc: it has the functions of the heap itself, counts their calls for each thread, and raises
 * SIGUSR1 inside of malloc. Some of the signals arrive when the thread has not asked for the message of a failed dlsym; that
 * must be there afterwards if the handler did not ask the dynamic linker for a name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

static __thread long calls;
static __thread int is_armed;
static int has_message;

long allocations(void) { return calls; }
int message_is_pending(void) { return has_message; }
void function_of_program(void) {}

void *malloc(size_t size)
{
    calls++;
    if (is_armed) {
        is_armed = 0;
        raise(SIGUSR1);
    }
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    calls++;
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    calls++;
    return __libc_realloc(block, size);
}

void free(void *block)
{
    calls++;
    __libc_free(block);
}

static void interrupt(void)
{
    is_armed = 1;
    void *volatile block = malloc(100);
    free(block);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    /* UCX leaves a message, which the second call frees. */
    dlerror();
    dlerror();
    for (int i = 0; i < 90; i++)
        interrupt();
    for (has_message = 1; has_message <= 90; has_message++) {
        dlsym(RTLD_DEFAULT, "a function that nothing has");
        interrupt();
    }
    dlerror();
    fputs("interrupted_in_malloc: done\n", stdout);
    MPI_Finalize();
    return 0;
}

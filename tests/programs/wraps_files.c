//# role: companion
//# lang: c
//# libs: -ldl -lpthread
/* wraps_files: wraps functions of the C library beside those of MPI, as I/O, memory and thread tools do, and has functions of its
 * own that a program may call where the tool is there. Counts what concerns files with `marker` in their name, and blocks of 77777 bytes.
 *
 * Hazard: the program, MPI, a library that is opened later and the C library's own allocations have to reach the wrappers, through calls,
 * function pointers, look-ups and weak references; variadic functions have to get all their arguments. What the tool calls itself
 * reaches its own wrappers, and those of the layers below.
 *
 *     FILES_LABEL=a     what the line at the end begins with
 *
 * Build: mpicc -shared -fPIC -O2 wraps_files.c -o wraps_files.so -ldl -lpthread */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MARKED = 77777, DESCRIPTORS = 1024 };
static int opens, streams, closes, writes, controls, threads, blocks, freed, libraries, prints;
static _Atomic char is_marked[DESCRIPTORS];
static void *_Atomic block;

/* Looked up once: dlsym in malloc, as dlerror calls it, would free what dlerror reads. */
#define NEXT(function)                                                                                                 \
    __extension__({                                                                                                    \
        static __typeof__(&function) next;                                                                             \
        if (!next)                                                                                                     \
            next = (__typeof__(&function)) dlsym(RTLD_NEXT, #function);                                                \
        next;                                                                                                          \
    })
#define COUNT(counter) __atomic_add_fetch(&(counter), 1, __ATOMIC_RELAXED)

static int marked(int descriptor)
{
    return descriptor >= 0 && descriptor < DESCRIPTORS && is_marked[descriptor];
}

static int opened(const char *path, int descriptor)
{
    if (path && strstr(path, "marker") && descriptor >= 0 && descriptor < DESCRIPTORS) {
        COUNT(opens);
        is_marked[descriptor] = 1;
    }
    return descriptor;
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return opened(path, NEXT(open)(path, flags, mode));
}

int open64(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return opened(path, NEXT(open64)(path, flags, mode));
}

FILE *fopen(const char *restrict path, const char *restrict mode)
{
    if (strstr(path, "marker"))
        COUNT(streams);
    return NEXT(fopen)(path, mode);
}

int close(int descriptor)
{
    if (marked(descriptor)) {
        COUNT(closes);
        is_marked[descriptor] = 0;
    }
    return NEXT(close)(descriptor);
}

ssize_t write(int descriptor, const void *bytes, size_t count)
{
    if (marked(descriptor))
        COUNT(writes);
    return NEXT(write)(descriptor, bytes, count);
}

int fcntl(int descriptor, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (marked(descriptor))
        COUNT(controls);
    return NEXT(fcntl)(descriptor, command, argument);
}

int printf(const char *restrict format, ...)
{
    va_list rest;
    va_start(rest, format);
    int written = NEXT(vprintf)(format, rest);
    va_end(rest);
    if (!strncmp(format, "marker", 6))
        COUNT(prints);
    return written;
}

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*run)(void *),
                   void *restrict argument)
{
    if (argument && !memcmp(argument, "marker", 6))
        COUNT(threads);
    return NEXT(pthread_create)(thread, attributes, run, argument);
}

void *malloc(size_t size)
{
    void *memory = NEXT(malloc)(size);
    if (size == MARKED) {
        COUNT(blocks);
        block = memory;
    }
    return memory;
}

void free(void *memory)
{
    if (memory && memory == block) {
        COUNT(freed);
        block = NULL;
    }
    NEXT(free)(memory);
}

void *dlopen(const char *path, int mode)
{
    if (path && strstr(path, "late_files"))
        COUNT(libraries);
    return NEXT(dlopen)(path, mode);
}

/* Of the tool itself: programs ask whether they are there. */
int wraps_files_event(int number)
{
    return number + 1;
}

int MPI_Init(int *argc, char ***argv)
{
    int result = PMPI_Init(argc, argv);
    const char *log = getenv("FILES_LOG");
    if (log) {
        int descriptor = open(log, O_CREAT | O_WRONLY, 0600);
        close(descriptor);
    }
    return result;
}

__attribute__((destructor)) static void report(void)
{
    const char *label = getenv("FILES_LABEL");
    fprintf(stderr, "%s: open %d fopen %d close %d write %d fcntl %d printf %d pthread_create %d malloc %d free %d dlopen %d\n",
            label ? label : "wraps_files", opens, streams, closes, writes, controls, prints, threads, blocks, freed, libraries);
}

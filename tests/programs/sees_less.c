//# role: companion
//# lang: c
//# mpi: both
//# libs: -ldl
/* sees_less: a tool that wraps functions of the C library of which a stack shows it fewer calls than LD_PRELOAD does. Says how many it saw
 * when the process ends:
 *
 *     sees_less: open 4 malloc 1 getsid 1 dlvsym 1
 *
 * `open` counts files with `marker` in their name, and looks its next function up. `malloc` counts blocks of 77777 bytes, and stands without
 * `free`. `getsid` has no next function: nothing in the file shows that it is a wrapper. `dlvsym` is libqmpi.so's own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MARKED = 77777 };
static int opens, blocks, sessions, look_ups;

extern void *__libc_malloc(size_t size);

int open(const char *path, int flags, ...)
{
    int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...)) dlsym(RTLD_NEXT, "open");
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    opens += strstr(path, "marker") != NULL;
    return next(path, flags, mode);
}

void *malloc(size_t size)
{
    blocks += size == MARKED;
    return __libc_malloc(size);
}

pid_t getsid(pid_t process)
{
    sessions++;
    return (pid_t) syscall(SYS_getsid, process);
}

void *dlvsym(void *restrict handle, const char *restrict name, const char *restrict version)
{
    void *(*next)(void *, const char *, const char *) =
        (void *(*) (void *, const char *, const char *) ) dlsym(RTLD_NEXT, "dlvsym");
    look_ups++;
    return next(handle, name, version);
}

/* A function of MPI, which makes it a tool. */
int MPI_Abort(MPI_Comm c, int code)
{
    return PMPI_Abort(c, code);
}

__attribute__((destructor)) static void report(void)
{
    printf("sees_less: open %d malloc %d getsid %d dlvsym %d\n", opens, blocks, sessions, look_ups);
}

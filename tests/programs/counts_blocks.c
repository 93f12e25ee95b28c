//# role: companion
//# lang: c
//# mpi: none
//# libs: -ldl
/* counts_blocks: counts who takes memory from the C library's heap. Preloaded beside a stack. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ours, others;

static void count(const void *caller)
{
    static __thread int is_counting; /* dladdr and stdio may allocate */
    Dl_info info;
    if (is_counting)
        return;
    is_counting = 1;
    if (dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "libqmpi"))
        __atomic_add_fetch(&ours, 1, __ATOMIC_RELAXED);
    else
        __atomic_add_fetch(&others, 1, __ATOMIC_RELAXED);
    is_counting = 0;
}

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);

void *malloc(size_t size)
{
    count(__builtin_return_address(0));
    return __libc_malloc(size);
}

void *calloc(size_t members, size_t size)
{
    count(__builtin_return_address(0));
    return __libc_calloc(members, size);
}

void *realloc(void *block, size_t size)
{
    count(__builtin_return_address(0));
    return __libc_realloc(block, size);
}

__attribute__((destructor)) static void report(void)
{
    printf("counts_blocks: %d of libqmpi, %s others\n", ours, others > 0 ? "some" : "no");
}

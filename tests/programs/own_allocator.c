//# role: companion
//# lang: c
//# mpi: both
/* own_allocator: an allocator that takes back nothing but its own blocks. Alone it is a library that a tool is linked with; with -DTOOL it is the
 * tool itself. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MARK 0x0123456789abcdefUL

static char *heap;
static unsigned long at;
static int is_locked;
long own_allocator_blocks;

static void *take(size_t size, size_t alignment)
{
    while (__sync_lock_test_and_set(&is_locked, 1))
        ;
    if (!heap)
        heap = mmap(0, 1UL << 34, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (alignment < 16)
        alignment = 16;
    unsigned long block = ((unsigned long)heap + at + 16 + alignment - 1) & ~(alignment - 1);
    at = block + size - (unsigned long)heap;
    own_allocator_blocks++;
    __sync_lock_release(&is_locked);
    ((unsigned long *)block)[-1] = MARK;
    ((unsigned long *)block)[-2] = size;
    return (void *)block;
}

static void check(const void *block)
{
    static const char text[] = "own_allocator: another allocator's block\n";
    if (((const unsigned long *)block)[-1] != MARK) {
        (void)!write(2, text, sizeof text - 1);
        abort();
    }
}

void *malloc(size_t size)
{
    return take(size, 16);
}

void free(void *block)
{
    if (block)
        check(block);
}

void *calloc(size_t count, size_t size)
{
    return take(count * size, 16);
}

void *realloc(void *block, size_t size)
{
    void *other = take(size, 16);
    if (block) {
        check(block);
        size_t before = ((unsigned long *)block)[-2];
        memcpy(other, block, before < size ? before : size);
    }
    return other;
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    *block = take(size, alignment);
    return 0;
}

void *memalign(size_t alignment, size_t size)
{
    return take(size, alignment);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return take(size, alignment);
}

void *valloc(size_t size)
{
    return take(size, 4096);
}

size_t malloc_usable_size(void *block)
{
    return block ? ((unsigned long *)block)[-2] : 0;
}

#ifdef TOOL
#include "own_allocator_tool.c"
#endif

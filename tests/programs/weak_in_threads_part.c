//# role: companion
//# lang: c
//# mpi: both
//# needs-mpi: no
/* The library of weak_in_threads.c. With -DSLOW its relocation takes milliseconds, in the middle of its read-only data: another thread finds
 * it listed and half relocated all that time. */
#ifdef __x86_64__
#include <sys/syscall.h>
#endif
#include <time.h>

__attribute__((weak)) extern int MPI_Abi_get_version(int *, int *);

int weak_in_threads_part(void)
{
    return MPI_Abi_get_version != 0;
}

#ifdef SLOW
static int function(void)
{
    return 1;
}

/* ld.so calls it while it relocates the object, whose PLT may not be ready: the system call is made here. */
static int (*resolve(void))(void)
{
    const struct timespec pause = { 0, 1500000 };
#if defined __x86_64__
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_nanosleep), "D"(&pause), "S"(0) : "rcx", "r11", "memory");
#elif defined __aarch64__
    register long number __asm__("x8") = 101;
    register const void *first __asm__("x0") = &pause;
    register long second __asm__("x1") = 0;
    __asm__ volatile("svc 0" : "+r"(first) : "r"(number), "r"(second) : "memory");
#endif
    return function;
}

int weak_in_threads_slow(void) __attribute__((ifunc("resolve")));

/* Each word is a relocation by name, in the read-only data. */
int (*const weak_in_threads_table[4])(void) = { weak_in_threads_slow, weak_in_threads_part, weak_in_threads_slow, weak_in_threads_part };
#endif

//# role: companion
//# lang: c
//# mpi: both
//# needs-mpi: no
/* The library of opened_by_both.c: its constructor calls a function that the tool wraps. */
#include <stdio.h>
#include <unistd.h>

__attribute__((constructor)) static void begin(void)
{
    printf("opened_by_both_part: begins %d\n", getppid() != 0);
    fflush(stdout);
}

__attribute__((destructor)) static void end(void)
{
    fputs("opened_by_both_part: ends\n", stdout);
    fflush(stdout);
}

int opened_by_both_part(void)
{
    return 7;
}

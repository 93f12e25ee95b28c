//# role: companion
//# lang: c
//# mpi: both
//# needs-mpi: no
//# libs: -ldl
/* A library of constructors.c whose constructor calls getppid, by a reference, by a pointer and by name: three times, or seven times
 * compiled with -DLATE. With CONSTRUCTORS_END set it ends the process. With -DSINGLE
 * `begin` is for -Wl,-init. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef LATE
#define REFERENCES 5
#define NAME constructors_late
#else
#define REFERENCES 1
#define NAME constructors_part
#endif

static pid_t (*const pointer)(void) = getppid;
static int equal;

#ifndef SINGLE
__attribute__((constructor)) static
#endif
void begin(void)
{
    if (getenv("CONSTRUCTORS_END"))
        exit(getppid() ? 3 : 1);
    for (int i = 0; i < REFERENCES; i++)
        getppid();
    pid_t (*volatile by_pointer)(void) = pointer;
    by_pointer();
    pid_t (*by_name)(void) = (pid_t(*)(void))dlsym(RTLD_DEFAULT, "getppid");
    equal = by_name == by_pointer;
    by_name();
}

int NAME(void)
{
    return equal;
}

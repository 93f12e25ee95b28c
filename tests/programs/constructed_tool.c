//# role: companion
//# lang: c
//# mpi: both
//# links: constructed_part.c
//# cflags: -Wl,-rpath,$ORIGIN
//# libs: -ldl
/* A tool that wraps getppid and says when it was called: before the tool's own constructor ran, which calls MPI and registers an exit
 * handler, and after. It has a library of its own, whose constructor comes first. With -DSINGLE `begin` and `end` are for -Wl,-init and
 * -Wl,-fini. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef SINGLE
#define AT_BEGIN
#define AT_END
#else
#define AT_BEGIN __attribute__((constructor)) static
#define AT_END __attribute__((destructor)) static
#endif

int constructed_part(void);

static int before, after, constructed, initialized = -1, arguments;

pid_t getppid(void)
{
    if (constructed)
        after++;
    else
        before++;
    return ((pid_t(*)(void))dlsym(RTLD_NEXT, "getppid"))();
}

static void at_exit(void)
{
    fputs("constructed_tool: at exit\n", stdout);
}

AT_BEGIN void begin(int argc, char **argv, char **environment)
{
    MPI_Initialized(&initialized);
    arguments = argv[argc] == NULL && environment != NULL && constructed_part() == 1;
    atexit(at_exit);
    constructed = 1;
}

AT_END void end(void)
{
    printf("constructed_tool: destructor, %d\n", constructed_part());
}

int MPI_Finalize(void)
{
    printf("constructed_tool: before %d after %d initialized %d arguments %d\n", before, after, initialized, arguments);
    fflush(stdout);
    return PMPI_Finalize();
}

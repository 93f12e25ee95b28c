//# lang: c
//# mpi: both
//# needs-mpi: no
//# companion: weak_part.c
//# cflags: -Wl,-rpath,$ORIGIN
//# libs: -ldl
//# ranks: 1
//# args: local
//# expect-stdout: before: MPI_Initialized is not there, by name not there
//# expect-stdout: part: MPI_Send is there, the other MPI's is not
//# args: global
//# expect-stdout: before: MPI_Initialized is not there, by name not there
//# expect-stdout: part: MPI_Send is there, the other MPI's is not
//# expect-stdout: after: MPI_Initialized is not there, by name there
/* A program that may run without MPI asks whether it is there, by a weak reference and by name, before and after it opens a
 * library that has it. Open MPI makes itself global, MPICH does not: the runs without us say what is right. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#pragma weak MPI_Initialized
int MPI_Initialized(int *flag);

static void ask(const char *when)
{
    /* glibc's words for a failure are what the caller gets to see. */
    const char *by_name = dlsym(RTLD_DEFAULT, "MPI_Initialized") ? "there" : "not there";
    const char *error = dlerror();
    if (error && !strstr(error, "undefined symbol: MPI_Initialized"))
        by_name = error;
    printf("%s: MPI_Initialized is %s, by name %s\n", when, MPI_Initialized ? "there" : "not there", by_name);
}

int main(int argc, char **argv)
{
    int global = argc > 1 && strcmp(argv[1], "global") == 0;
    ask("before");
    void *library = dlopen("weak_part.so", RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
    int (*run)(void) = library ? (int (*)(void))dlsym(library, "weak_part_run") : NULL;
    if (!run) {
        fprintf(stderr, "weak_late: %s\n", dlerror());
        return 1;
    }
    int status = run();
    ask("after");
    return status;
}

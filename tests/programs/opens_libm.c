//# role: companion
//# lang: c
//# mpi: both
//# libs: -ldl
/* opens_libm: a tool that opens a library of glibc's with dlopen: in a constructor with OPENS_LIBM=early, otherwise in
 * MPI_Init. Says `opens_libm: ok`, or what the dynamic linker says. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void use_library(void)
{
    void *library = dlopen("libm.so.6", RTLD_NOW);
    double (*root)(double) = library ? (double (*)(double))dlsym(library, "cbrt") : NULL;
    if (root)
        fputs(root(27) > 2.9 && root(27) < 3.1 ? "opens_libm: ok\n" : "opens_libm: FAILED\n", stdout);
    else
        printf("opens_libm: FAILED %s\n", dlerror());
}

static int is_early(void)
{
    const char *when = getenv("OPENS_LIBM");
    return when && strcmp(when, "early") == 0;
}

__attribute__((constructor)) static void begin(void)
{
    if (is_early())
        use_library();
}

int MPI_Init(int *argc, char ***argv)
{
    if (!is_early())
        use_library();
    return PMPI_Init(argc, argv);
}

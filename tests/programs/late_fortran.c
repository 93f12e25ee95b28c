//# lang: c
//# mpi: both
//# needs-mpi: no
//# companion: late_fortran_part.f90
//# companion: late_init.c
//# cflags: -Wl,-rpath,$ORIGIN,--disable-new-dtags
//# libs: -ldl
//# ranks: 2
//# args: alone
//# expect-stdout: late_fortran: sum 3
//# args: second
//# expect-stdout: late_fortran: sum 3
/* A program that has nothing to do with MPI, until it opens a library in Fortran that has, as Python does with f2py's modules:
 * the first library with MPI in the process, or after one in C that has initialized it.
 *
 * DT_RPATH, unlike DT_RUNPATH, also counts where another library (UCX) has taken the place of dlopen and calls it. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int run(const char *file, const char *name)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    int (*function)(void) = library ? (int (*)(void))dlsym(library, name) : NULL;
    if (!function) {
        fprintf(stderr, "late_fortran: %s\n", dlerror());
        return 1;
    }
    return function();
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "second") == 0 && run("late_init.so", "late_init"))
        return 1;
    return run("late_fortran_part.so", "late_fortran_run");
}

//# role: companion
//# lang: c
/* For fortran_tool.f90: Fortran has no way to ask for a return address. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int called_by_app(void);

/* The caller's return address: the caller has a frame pointer, as this file has. */
int called_by_app(void)
{
    char program[PATH_MAX] = "", file[PATH_MAX];
    Dl_info info;
    return readlink("/proc/self/exe", program, sizeof program - 1) > 0
        && dladdr(__builtin_return_address(1), &info) && info.dli_fname && realpath(info.dli_fname, file)
        && strcmp(file, program) == 0;
}

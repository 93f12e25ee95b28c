//# role: companion
//# lang: c
/* For fortran_tool.f90: Fortran has no way to ask for a return address. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int called_by_app(void);

/* The caller's return address: the caller has a frame pointer, as this file has, and where it points stand the next one and the return
 * address, of which 48 bits count: AArch64 may sign it in the others. (__builtin_return_address(1) is always null there.) */
int called_by_app(void)
{
    uintptr_t **own = __builtin_frame_address(0), *callers = own[0];
    void *back = (void *)(callers[1] & 0xffffffffffff);
    char program[PATH_MAX] = "", file[PATH_MAX];
    Dl_info info;
    return readlink("/proc/self/exe", program, sizeof program - 1) > 0
        && dladdr(back, &info) && info.dli_fname && realpath(info.dli_fname, file)
        && strcmp(file, program) == 0;
}

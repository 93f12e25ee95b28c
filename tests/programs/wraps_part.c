//# role: companion
//# lang: c
//# libs: -ldl
/* wraps_part: wraps a function of a library that only the program has, as I/O tools wrap those of HDF5, and fscanf by way of vfscanf.
 *
 * Hazard: the next function is not in the tool's namespace, where the tool's own definition is the only one; and fscanf, which compilers
 * call by other names, is none of the names that the tool looks up, or with IMPORTS imports. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Not by way of _GNU_SOURCE, with which fscanf is another function since glibc 2.38 than the one that the program calls. */
#ifndef RTLD_NEXT
#define RTLD_NEXT ((void *)-1l)
#endif

int wrapped_part(int value);

static int parts, scans;

int wrapped_part(int value)
{
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "wrapped_part");
    parts++;
    return next ? next(value) : -1;
}

int fscanf(FILE *restrict stream, const char *restrict format, ...)
{
#ifdef IMPORTS
    int (*next)(FILE *, const char *, va_list) = vfscanf;
#else
    int (*next)(FILE *, const char *, va_list) = (int (*)(FILE *, const char *, va_list))dlsym(RTLD_NEXT, "vfscanf");
#endif
    va_list rest;
    if (!strncmp(format, "part", 4))
        scans++;
    va_start(rest, format);
    int found = next(stream, format, rest);
    va_end(rest);
    return found;
}

int MPI_Finalize(void)
{
    printf("wraps_part: %d parts, %d scans\n", parts, scans);
    return PMPI_Finalize();
}

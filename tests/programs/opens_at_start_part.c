//# role: companion
//# lang: c
//# mpi: both
//# needs-mpi: no
//# libs: -ldl
/* A library whose constructor opens one of the C library's that no program has. */
#include <dlfcn.h>
#include <stddef.h>

static void *library;

__attribute__((constructor)) static void open_library(void)
{
    library = dlopen("libBrokenLocale.so.1", RTLD_LAZY);
}

int opened_at_start(void)
{
    return library != NULL;
}

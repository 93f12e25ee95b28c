//# role: companion
//# lang: c
//# mpi: both
//# libs: -ldl
/* where_opened LIBRARY: opens it by dlopen, and says whether the program's list of objects has it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int is_it(struct dl_phdr_info *info, size_t size, void *path)
{
    (void)size;
    return strcmp(info->dlpi_name, path) == 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    printf("where_opened: %s\n", !library ? dlerror() : dl_iterate_phdr(is_it, argv[1]) ? "in the program" : "elsewhere");
    MPI_Finalize();
    return 0;
}

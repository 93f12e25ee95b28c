//# role: companion
//# lang: c
//# mpi: both
//# libs: -ldl
/* where_opened LIBRARY: opens it by dlopen, and says whether it is in the program's namespace. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    Lmid_t namespace = -1;
    MPI_Init(&argc, &argv);
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (library && dlinfo(library, RTLD_DI_LMID, &namespace) != 0)
        namespace = -1;
    printf("where_opened: %s\n", !library ? dlerror() : namespace == LM_ID_BASE ? "in the program" : "elsewhere");
    MPI_Finalize();
    return 0;
}

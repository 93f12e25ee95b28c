//# lang: c
//# mpi: both
//# needs-mpi: no
//# companion: sentinels_mpifh.f90
//# companion: sentinels_use_mpi.f90
//# companion: sentinels_f08.f90
//# companion: sentinels_libmpi.c
//# cflags: -Wl,-rpath,$ORIGIN
//# libs: -ldl
//# ranks: 1
//# args: sentinels_mpifh.so local alone
//# expect-stdout: sentinels: in_place 3 3 3 3
//# expect-stdout: sentinels: done
//# args: sentinels_mpifh.so global alone
//# expect-stdout: sentinels: in_place 3 3 3 3
//# expect-stdout: sentinels: done
//# args: sentinels_mpifh.so local opened
//# expect-stdout: sentinels: in_place 3 3 3 3
//# expect-stdout: sentinels: done
//# args: sentinels_mpifh.so local initialized
//# fails-on: mpich 3
//# expect-stdout: sentinels: in_place 3 3 3 3
//# expect-stdout: sentinels: done
/* sentinels PART SCOPE WHEN [COMMAND]: opens a library in Fortran that passes every address that means something to MPI
 * (MPI_IN_PLACE, MPI_BOTTOM, MPI_STATUS_IGNORE, ...), as Python does with f2py's modules and with MUMPS.
 *
 * SCOPE is `local` or `global`: RTLD_LOCAL or RTLD_GLOBAL. WHEN says what the process has of MPI then:
 *   alone        nothing: the library brings MPI
 *   opened       a library in C with MPI, opened by dlopen, that has not initialized it
 *   initialized  the same, and it has
 *   before       the program's own MPI (sentinels_linked.c); MPI_Init comes after the library was opened
 *   after        the same; MPI_Init came before
 * COMMAND is what the library starts with MPI_Comm_spawn. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef LINKED
#include <mpi.h>
#endif

static void *function(const char *file, int flags, const char *name)
{
    void *library = dlopen(file, RTLD_NOW | flags), *address = library ? dlsym(library, name) : NULL;
    if (!address) {
        fprintf(stderr, "sentinels: %s\n", dlerror());
        exit(1);
    }
    return address;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    const char *when = argv[3], *command = argc > 4 ? argv[4] : "";
    int flags = strcmp(argv[2], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL, own_mpi = 0;
    if (strcmp(when, "opened") == 0 || strcmp(when, "initialized") == 0) {
        void (*libmpi)(int) = (void (*)(int))function("sentinels_libmpi.so", RTLD_LOCAL, "sentinels_libmpi");
        libmpi(strcmp(when, "initialized") == 0);
    }
#ifdef LINKED
    own_mpi = 1;
    if (strcmp(when, "after") == 0)
        MPI_Init(&argc, &argv);
#endif
    void (*run)(int, const char *, int) = (void (*)(int, const char *, int))function(argv[1], flags, "sentinels_run");
#ifdef LINKED
    if (strcmp(when, "before") == 0)
        MPI_Init(&argc, &argv);
#endif
    run(!own_mpi, command, (int)strlen(command));
#ifdef LINKED
    MPI_Finalize();
#endif
    return 0;
}

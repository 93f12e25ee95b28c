//# role: companion
//# lang: c
//# mpi: both
//# links: shows_less_part.c
//# companion: shows_less_late.c
//# cflags: -Wl,-rpath,$ORIGIN -fno-builtin
//# libs: -ldl
/* shows_less: calls functions of the C library where sees_less.c counts them.
 *
 *     shows_less LIBRARY
 *
 * The file `marker` is opened in the constructor of a library that the program is linked with, in the program's own constructor, in main,
 * and in the constructor of LIBRARY, which main opens: four times. */
#define _GNU_SOURCE
#include "../../legacy-tools/oldest_glibc.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int shows_less_part(void);

__attribute__((constructor)) static void start(void)
{
    close(open("marker of the program", O_RDONLY));
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    MPI_Init(&argc, &argv);
    close(open("marker of main", O_RDONLY));
    free(malloc(77777));
    int has_session = getsid(0) >= 0;
    int found = dlvsym(RTLD_DEFAULT, "getenv", OLDEST_GLIBC) != NULL;
    void *library = dlopen(argv[1], RTLD_NOW);
    printf("shows_less: part %d session %d found %d opened %d\n", shows_less_part(), has_session, found, library != NULL);
    MPI_Finalize();
    return 0;
}

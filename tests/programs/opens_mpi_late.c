//# role: companion
//# lang: c
//# needs-mpi: no
//# companion: late_part.c
//# cflags: -Wl,-rpath,$ORIGIN
//# libs: -ldl
/* opens_mpi_late: a program without MPI that opens a file with `marker` in its name. With an argument it then opens a library that calls
 * MPI, and the file again. For sees_less.c. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    (void)argv;
    close(open("marker", O_RDONLY));
    if (argc > 1) {
        int rank = -1;
        void *library = dlopen("late_part.so", RTLD_NOW);
        int (*run)(int *) = library ? (int (*)(int *))dlsym(library, "late_part_run") : NULL;
        if (!run || run(&rank) || rank < 0)
            return 1;
        close(open("marker", O_RDONLY));
    }
    fputs("opens_mpi_late: done\n", stdout);
    return 0;
}

//# role: companion
//# lang: c
//# mpi: both
/* Which descriptors are open when the program begins, in MPI, and at the end? A process on its own only, as launchers hand
 * descriptors over. Prints `lists_descriptors: main 0 1 2`, then the same for `asked` (MPI_Initialized was called) and, but for the
 * argument `early`, for `initialized` and `finalized`. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>

static void list(const char *when)
{
    printf("lists_descriptors: %s", when);
    for (int descriptor = 0; descriptor < 4096; descriptor++)
        if (fcntl(descriptor, F_GETFD) != -1)
            printf(" %d", descriptor);
    fputs("\n", stdout);
}

int main(int argc, char **argv)
{
    int size = 0, is = -1;
    list("main");
    MPI_Initialized(&is);
    list("asked");
    if (argc > 1)
        return is;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    list("initialized");
    MPI_Finalize();
    list("finalized");
    return size == 1 ? 0 : 1;
}

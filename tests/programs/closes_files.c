//# role: companion
//# lang: c
//# mpi: both
/* A program that, as daemons do, closes what it may have inherited before it begins; a process on its own only, because
 * launchers hand descriptors over. First it says which one its own open() gets: `closes_files: descriptor 3`. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    printf("closes_files: descriptor %d\n", open("/dev/null", O_RDONLY));
    for (int i = 3; i < 256; i++)
        close(i);
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    fputs("closes_files: done\n", stdout);
    return 0;
}

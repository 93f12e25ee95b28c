//# lang: c
//# mpi: both
//# cflags: -no-pie -fno-pic
//# ranks: 2
//# expect-stdout: copy_reloc: MPI_COMM_WORLD has 2 members, MPI_INT 4 bytes
/* An executable that holds MPI's variables itself. Code that is not position-independent takes the address of
 * ompi_mpi_comm_world as a constant, so the linker copies the variable into the program (R_X86_64_COPY), and the
 * MPI library uses that copy. With MPICH, whose handles are integers, it is an ordinary program. */
#include <mpi.h>
#include <stdio.h>

static MPI_Comm volatile world;

int main(int argc, char **argv)
{
    int rank, size, bytes, sum = 0, one = 1;
    MPI_Init(&argc, &argv);
    world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    MPI_Type_size(MPI_INT, &bytes);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world);
    int other = (rank + 1) % size, from = -1;
    MPI_Comm twin;
    MPI_Comm_dup(world, &twin);
    if (rank == 0)
        MPI_Send(&rank, 1, MPI_INT, other, 0, world);
    else
        MPI_Recv(&from, 1, MPI_INT, rank - 1, 0, world, MPI_STATUS_IGNORE);
    MPI_Comm_free(&twin);
    if (rank == 0)
        printf("copy_reloc: MPI_COMM_WORLD has %d members, MPI_INT %d bytes\n", sum == size ? size : -1, bytes);
    MPI_Finalize();
    return 0;
}

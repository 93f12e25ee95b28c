//# role: companion
//# lang: c
//# mpi: both
/* front_mpi_part: what front_mpi.c goes on to: linked with another MPI, which it calls. */
#include <mpi.h>

int front_mpi_init(int *argc, char ***argv)
{
    return MPI_Init(argc, argv);
}

int front_mpi_barrier(void *comm)
{
    (void)comm;
    return MPI_Barrier(MPI_COMM_WORLD);
}

int front_mpi_finalize(void)
{
    return MPI_Finalize();
}

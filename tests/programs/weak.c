//# lang: c
//# mpi: both
//# ranks: 1
//# expect-stdout: weak: MPI_Send is there, the other MPI's is not
/* A program that asks by weak references which functions the MPI has. */
#include <mpi.h>
#include <stdio.h>

/* An extension of another MPI, which no release of this one has. */
#ifdef OPEN_MPI
#define OTHER MPIX_Grequest_class_allocate
#else
#define OTHER OMPI_Affinity_str
#endif
#pragma weak MPI_Send
int OTHER(void) __attribute__((weak));

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    printf("weak: MPI_Send is %s, the other MPI's is %s\n", MPI_Send ? "there" : "not", OTHER ? "there" : "not");
    if (OTHER)
        OTHER();
    MPI_Finalize();
    return 0;
}

//# role: companion
//# lang: c
//# mpi: both
/* The part of weak_late.c that uses MPI, and asks by weak references which functions it has. */
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
int weak_part_run(void);

int weak_part_run(void)
{
    MPI_Init(NULL, NULL);
    printf("part: MPI_Send is %s, the other MPI's is %s\n", MPI_Send ? "there" : "not", OTHER ? "there" : "not");
    if (OTHER)
        OTHER();
    return MPI_Finalize();
}

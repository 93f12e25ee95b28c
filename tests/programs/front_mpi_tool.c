//# role: companion
//# lang: c
//# mpi: both
//# needs-mpi: no
/* front_mpi_tool: a tool for the MPI of front_mpi.c. */
#include <stdio.h>

int PMPI_Init(int *, char ***);
int PMPI_Barrier(void *);
int PMPI_Finalize(void);

static int inits, barriers;

int MPI_Init(int *argc, char ***argv)
{
    inits++;
    return PMPI_Init(argc, argv);
}

int MPI_Barrier(void *comm)
{
    barriers++;
    return PMPI_Barrier(comm);
}

int MPI_Finalize(void)
{
    printf("front_mpi_tool: %d %d\n", inits, barriers);
    fflush(stdout);
    return PMPI_Finalize();
}

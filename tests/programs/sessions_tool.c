//# role: companion
/* A tool that begins in MPI_Init and reports in MPI_Finalize, and does nothing for calls outside of these. */
#include <mpi.h>
#include <stdio.h>

static int inits, barriers, outside, has_arguments;
static enum { BEFORE, BETWEEN, AFTER } phase;

static void begin(int *argc, char ***argv) {
    inits++;
    has_arguments = argc && *argc > 0 && argv && (*argv)[0] && !(*argv)[*argc];
    phase = BETWEEN;
}

int MPI_Init(int *argc, char ***argv) {
    begin(argc, argv);
    return PMPI_Init(argc, argv);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    begin(argc, argv);
    return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Barrier(MPI_Comm comm) {
    phase == BETWEEN ? barriers++ : outside++;
    return PMPI_Barrier(comm);
}

int MPI_Finalize(void) {
    int rank, all = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Reduce(&barriers, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    phase = AFTER;
    if (rank == 0)
        printf("tool: %d MPI_Init%s, %d MPI_Barrier of all ranks, %d outside\n", inits, has_arguments ? " with arguments" : "", all, outside);
    return PMPI_Finalize();
}

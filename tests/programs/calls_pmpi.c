//# role: companion
//# lang: c
//# libs: -ldl
/* calls_pmpi: calls PMPI_Send, which is meant to bypass tools, by reference and by look-up. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static void send(const char *how, int (*function)(const void *, int, MPI_Datatype, int, int, MPI_Comm))
{
    int sent = 7, received = 0;
    MPI_Request request;
    MPI_Irecv(&received, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &request);
    function(&sent, 1, MPI_INT, 0, 3, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("%s: %d\n", how, received);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    send("MPI_Send", MPI_Send);
    send("PMPI_Send", PMPI_Send);
    send("dlsym", (int (*)(const void *, int, MPI_Datatype, int, int, MPI_Comm)) dlsym(RTLD_DEFAULT, "PMPI_Send"));
    MPI_Finalize();
    return 0;
}

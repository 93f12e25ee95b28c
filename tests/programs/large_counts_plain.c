//# role: companion
/* A tool from before MPI-4: wrappers of functions with int counts. */
#include <mpi.h>
#include <stdio.h>

static int sends, receives, broadcasts, sizes, exchanges;

int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
    sends++;
    return PMPI_Send(buf, count, type, dest, tag, comm);
}

int MPI_Recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status) {
    receives++;
    return PMPI_Recv(buf, count, type, source, tag, comm, status);
}

int MPI_Bcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    broadcasts++;
    return PMPI_Bcast(buf, count, type, root, comm);
}

int MPI_Type_size(MPI_Datatype type, int *size) {
    sizes++;
    return PMPI_Type_size(type, size);
}

int MPI_Alltoallv(const void *in, const int *counts, const int *places, MPI_Datatype type, void *out, const int *out_counts,
                  const int *out_places, MPI_Datatype out_type, MPI_Comm comm) {
    exchanges++;
    return PMPI_Alltoallv(in, counts, places, type, out, out_counts, out_places, out_type, comm);
}

int MPI_Gatherv(const void *in, int count, MPI_Datatype type, void *out, const int *counts, const int *places, MPI_Datatype out_type,
                int root, MPI_Comm comm) {
    exchanges++;
    return PMPI_Gatherv(in, count, type, out, counts, places, out_type, root, comm);
}

int MPI_Finalize(void) {
    printf("plain: %d sends, %d receives, %d broadcasts, %d sizes, %d exchanges\n", sends, receives, broadcasts, sizes, exchanges);
    return PMPI_Finalize();
}

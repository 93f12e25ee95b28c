//# lang: c
//# mpi: both
//# ranks: 1
//# args: initialized
//# expect-stdout: early initialized: 0
//# args: finalized
//# expect-stdout: early finalized: 0
//# args: version
//# expect-stdout: early version: ok
//# args: library
//# expect-stdout: early library: ok
//# args: mpi_t
//# expect-stdout: early mpi_t: ok
//# args: info
//# mpi-only: mpich
//# standard: 4
//# expect-stdout: early info: ok
//# args: wtime
//# mpi-only: openmpi
//# expect-stdout: early wtime: ok
/* What may be called before MPI_Init, each as the very first MPI call of the process: the first argument says
 * which. Tools have to be there by then. MPI_Info_create is one of them since MPI-4, which Open MPI 4.1 is not;
 * MPI_Wtime never was, but programs do it, and Open MPI lets them. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

/* Makes the call; returns the word to print. */
static const char *first_call(const char *which)
{
    int flag = 1, version = 0, subversion = -1, length = 0, provided = -1;
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    if (strcmp(which, "initialized") == 0)
        return MPI_Initialized(&flag) == MPI_SUCCESS && !flag ? "0" : "wrong";
    if (strcmp(which, "finalized") == 0)
        return MPI_Finalized(&flag) == MPI_SUCCESS && !flag ? "0" : "wrong";
    if (strcmp(which, "version") == 0)
        return MPI_Get_version(&version, &subversion) == MPI_SUCCESS && version == MPI_VERSION ? "ok" : "wrong";
    if (strcmp(which, "library") == 0)
        return MPI_Get_library_version(text, &length) == MPI_SUCCESS && length > 0 ? "ok" : "wrong";
    if (strcmp(which, "mpi_t") == 0)
        return MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS ? "ok" : "wrong";
    if (strcmp(which, "wtime") == 0)
        return MPI_Wtime() >= 0 ? "ok" : "wrong";
    if (strcmp(which, "info") == 0) {
        MPI_Info info = MPI_INFO_NULL;
        if (MPI_Info_create(&info) != MPI_SUCCESS || MPI_Info_set(info, "key", "value") != MPI_SUCCESS)
            return "wrong";
        return MPI_Info_get(info, "key", 10, text, &flag) == MPI_SUCCESS && flag && strcmp(text, "value") == 0
                   ? MPI_Info_free(&info) == MPI_SUCCESS ? "ok" : "wrong"
                   : "wrong";
    }
    return "unknown";
}

int main(int argc, char **argv)
{
    int rank;
    const char *which = argc > 1 ? argv[1] : "initialized", *result = first_call(which);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("early %s: %s\n", which, result);
    if (strcmp(which, "mpi_t") == 0)
        MPI_T_finalize();
    MPI_Finalize();
    return 0;
}

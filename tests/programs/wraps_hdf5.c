//# role: companion
//# lang: c
//# mpi: both
/* wraps_hdf5: a tool for I/O, linked with HDF5, that wraps some of its functions and some of MPI's; it asks HDF5 about the program's files. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>

static int created, named, closed, collective;

hid_t H5Fcreate(const char *name, unsigned flags, hid_t creation, hid_t access)
{
    static hid_t (*next)(const char *, unsigned, hid_t, hid_t);
    if (!next)
        next = (hid_t(*)(const char *, unsigned, hid_t, hid_t))dlsym(RTLD_NEXT, "H5Fcreate");
    hid_t file = next(name, flags, creation, access);
    created += file >= 0;
    named += H5Fget_name(file, NULL, 0) > 0;
    return file;
}

herr_t H5Fclose(hid_t file)
{
    static herr_t (*next)(hid_t);
    if (!next)
        next = (herr_t(*)(hid_t))dlsym(RTLD_NEXT, "H5Fclose");
    herr_t result = next(file);
    closed += result >= 0;
    return result;
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    collective++;
    return PMPI_Bcast(buffer, count, type, root, comm);
}

int MPI_Finalize(void)
{
    int rank, all;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Allreduce(&collective, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("wraps_hdf5: created %d named %d closed %d, %d broadcasts\n", created, named, closed, all);
    fflush(stdout);
    return PMPI_Finalize();
}

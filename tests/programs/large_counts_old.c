//# role: companion
//# lang: c
//# mpi: both
/* large_counts_old: a tool from before MPI-4 that counts calls of functions that store counts, and says what was stored. */
#include <mpi.h>
#include <stdio.h>

static int calls[12];

#define COUNTED(number, name, parameters, arguments)                                                                    \
    int name parameters                                                                                                 \
    {                                                                                                                   \
        calls[number]++;                                                                                                \
        return P##name arguments;                                                                                       \
    }

COUNTED(0, MPI_Get_count, (const MPI_Status *status, MPI_Datatype type, int *count), (status, type, count))
COUNTED(1, MPI_Get_elements, (const MPI_Status *status, MPI_Datatype type, int *count), (status, type, count))
COUNTED(2, MPI_Type_size, (MPI_Datatype type, int *size), (type, size))
COUNTED(3, MPI_Pack_size, (int count, MPI_Datatype type, MPI_Comm comm, int *size), (count, type, comm, size))
COUNTED(4, MPI_Pack, (const void *in, int count, MPI_Datatype type, void *out, int size, int *position, MPI_Comm comm),
        (in, count, type, out, size, position, comm))
COUNTED(5, MPI_Unpack, (const void *in, int size, int *position, void *out, int count, MPI_Datatype type, MPI_Comm comm),
        (in, size, position, out, count, type, comm))
COUNTED(6, MPI_Pack_external_size, (const char *rep, int count, MPI_Datatype type, MPI_Aint *size), (rep, count, type, size))
COUNTED(7, MPI_Pack_external,
        (const char *rep, const void *in, int count, MPI_Datatype type, void *out, MPI_Aint size, MPI_Aint *position),
        (rep, in, count, type, out, size, position))
COUNTED(8, MPI_Unpack_external,
        (const char *rep, const void *in, MPI_Aint size, MPI_Aint *position, void *out, int count, MPI_Datatype type),
        (rep, in, size, position, out, count, type))
COUNTED(9, MPI_Buffer_attach, (void *buffer, int size), (buffer, size))
COUNTED(10, MPI_Buffer_detach, (void *buffer, int *size), (buffer, size))
COUNTED(11, MPI_Type_get_extent, (MPI_Datatype type, MPI_Aint *lower, MPI_Aint *extent), (type, lower, extent))

int MPI_Finalize(void)
{
    printf("old:");
    for (int i = 0; i < 12; i++)
        printf(" %d", calls[i]);
    fputs("\n", stdout);
    return PMPI_Finalize();
}

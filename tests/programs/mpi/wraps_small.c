//# role: companion
//# lang: c
//# mpi: mpich
/* A PMPI tool that wraps every function of the small MPI (qmpi_mpi.c) and goes on; each instance adds one to the size of a communicator. */
#include <mpi.h>

#define WRAP(f, parameters, ...) \
    int MPI_##f parameters       \
    {                            \
        return PMPI_##f(__VA_ARGS__); \
    }

WRAP(Init, (int *argc, char ***argv), argc, argv)
WRAP(Init_thread, (int *argc, char ***argv, int required, int *provided), argc, argv, required, provided)
int MPI_Finalize(void)
{
    return PMPI_Finalize();
}
WRAP(Initialized, (int *flag), flag)
WRAP(Finalized, (int *flag), flag)
WRAP(Abort, (MPI_Comm comm, int code), comm, code)
WRAP(Get_library_version, (char *text, int *length), text, length)
WRAP(Comm_rank, (MPI_Comm comm, int *rank), comm, rank)
WRAP(Type_size, (MPI_Datatype type, int *size), type, size)
WRAP(Send, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), b, n, t, to, tag, c)
WRAP(Recv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s), b, n, t, from, tag, c, s)
WRAP(Sendrecv,
     (const void *b, int n, MPI_Datatype t, int to, int tag, void *rb, int rn, MPI_Datatype rt, int from, int rtag,
      MPI_Comm c, MPI_Status *s),
     b, n, t, to, tag, rb, rn, rt, from, rtag, c, s)
WRAP(Probe, (int from, int tag, MPI_Comm c, MPI_Status *s), from, tag, c, s)
WRAP(Barrier, (MPI_Comm c), c)
WRAP(Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), b, n, t, root, c)
WRAP(Reduce, (const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c), b, rb, n, t, op, root, c)
WRAP(Allreduce, (const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c), b, rb, n, t, op, c)

double MPI_Wtime(void)
{
    return PMPI_Wtime();
}

int MPI_Pcontrol(const int level, ...)
{
    return PMPI_Pcontrol(level);
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    int result = PMPI_Comm_size(comm, size);
    ++*size;
    return result;
}

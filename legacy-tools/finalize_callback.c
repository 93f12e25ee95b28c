//# lang: c
//# mpi: both
//# program: ring.c
//# expect-stdout: tool finalize_callback: ok calls=3 inside=1
/* finalize_callback: is called by MPI from inside PMPI_Finalize, and calls MPI there and afterwards.
 *
 * Hazard: MPI_Finalize starts by deleting the attributes of MPI_COMM_SELF (MPI-4.0, 11.2.4), and so calls the tool's
 * callback, while every layer is in the middle of its MPI_Finalize. The tool still sends a message to itself then, and
 * asks PMPI_Finalized when all is over.
 *
 * Build: mpicc -shared -fPIC -O2 finalize_callback.c -o finalize_callback.so */
#include "verdict.h"
#include <mpi.h>

static int inside;

static int delete_attribute(MPI_Comm comm, int key, void *value, void *extra)
{
    int out = 5, in = 0, size = 0;
    (void)key, (void)extra;
    inside++;
    PMPI_Comm_size(comm, &size);
    PMPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
    if (size != 1 || in != 5 || value != &inside)
        fail("MPI does not work inside MPI_Finalize");
    return MPI_SUCCESS;
}

int MPI_Init(int *argc, char ***argv)
{
    int key;
    count_call();
    int result = PMPI_Init(argc, argv);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &key, NULL);
    PMPI_Comm_set_attr(MPI_COMM_SELF, key, &inside);
    PMPI_Comm_free_keyval(&key);
    return result;
}

int MPI_Barrier(MPI_Comm c)
{
    count_call();
    return PMPI_Barrier(c);
}

int MPI_Finalize(void)
{
    int rank = -1, finalized = 0;
    count_call();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int result = PMPI_Finalize();
    PMPI_Finalized(&finalized);
    if (!finalized || inside != 1)
        fail("PMPI_Finalized says %d, the callback ran %d times", finalized, inside);
    verdict_with("finalize_callback", rank, "inside=%d", inside);
    return result;
}

//# lang: c
//# mpi: both
//# program: ring.c copy_reloc.c
//# expect-stdout: tool ctor_calls_mpi: ok calls=9
/* ctor_calls_mpi: calls MPI, and reads its data, before main.
 *
 * Hazard: a constructor runs while the tool is being loaded. By then PMPI_Initialized and PMPI_Get_version must
 * be bound, and MPI_COMM_WORLD must be the very object that the program uses: with Open MPI it is the address
 * of a variable, of which a program that was not built as position-independent code has the only real copy.
 *
 * Build: mpicc -shared -fPIC -O2 ctor_calls_mpi.c -o ctor_calls_mpi.so */
#include "verdict.h"
#include <mpi.h>
#include <string.h>

static MPI_Comm world; /* as the constructor saw it */
static int world_calls;

__attribute__((constructor)) static void ask_mpi(void)
{
    int flag = -1, version = 0, subversion = 0;
    world = MPI_COMM_WORLD;
    if (PMPI_Initialized(&flag) != MPI_SUCCESS || flag == -1)
        fail("PMPI_Initialized does not answer in a constructor");
    if (PMPI_Get_version(&version, &subversion) != MPI_SUCCESS || version != MPI_VERSION)
        fail("PMPI_Get_version in a constructor: %d.%d", version, subversion);
}

static void check(MPI_Comm comm)
{
    int same = MPI_UNEQUAL;
    count_call();
    if (comm == world)
        world_calls++;
    else if (PMPI_Comm_compare(comm, world, &same) == MPI_SUCCESS && same == MPI_IDENT)
        fail("two handles for one communicator");
}

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    check(c);
    return PMPI_Send(b, n, t, to, tag, c);
}

int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
    check(c);
    return PMPI_Recv(b, n, t, from, tag, c, s);
}

int MPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c)
{
    check(c);
    return PMPI_Bcast(b, n, t, root, c);
}

int MPI_Comm_dup(MPI_Comm c, MPI_Comm *dup)
{
    check(c);
    return PMPI_Comm_dup(c, dup);
}

int MPI_Finalize(void)
{
    int rank = -1, size = 0;
    char name[MPI_MAX_OBJECT_NAME] = "";
    count_call();
    PMPI_Comm_rank(world, &rank);
    PMPI_Comm_size(world, &size);
    PMPI_Comm_get_name(world, name, &size);
    if (strcmp(name, "MPI_COMM_WORLD") != 0)
        fail("the constructor's MPI_COMM_WORLD is called '%s'", name);
    if (world_calls == 0)
        fail("no call came with the constructor's MPI_COMM_WORLD");
    verdict("ctor_calls_mpi", rank, "");
    return PMPI_Finalize();
}

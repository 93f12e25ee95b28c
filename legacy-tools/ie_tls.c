//# lang: c
//# mpi: both
//# cflags: -ftls-model=initial-exec
//# libs: -lpthread
//# program: ring.c threads.c
//# expect-stdout: tool ie_tls: ok calls=9
/* ie_tls: 64 bytes of thread-local storage at a fixed distance from the thread pointer.
 *
 * Hazard: such storage comes from a small surplus (512 bytes by default) that the dynamic linker keeps when the
 * program starts. Every copy of the tool takes its share; each must have bytes of its own, in old threads and new
 * ones, with their initial values.
 *
 * Build: mpicc -shared -fPIC -O2 -ftls-model=initial-exec ie_tls.c -o ie_tls.so -lpthread */
#include "verdict.h"
#include <mpi.h>
#include <pthread.h>
#include <string.h>

static __thread char text[56] = "the initial value";
static __thread long uses; /* with the text: 64 bytes */

static void use(void)
{
    char expected[56] = "the initial value";
    count_call();
    if (uses > 0)
        snprintf(expected, sizeof expected, "%p, %ld uses", (void *)text, uses);
    if (strcmp(text, expected) != 0)
        fail("expected '%s', found '%.55s'", expected, text);
    uses++;
    snprintf(text, sizeof text, "%p, %ld uses", (void *)text, uses);
}

static void *other_thread(void *unused)
{
    use();
    if (uses != 1)
        fail("a new thread starts with %ld uses", uses);
    return unused;
}

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    use();
    return PMPI_Send(b, n, t, to, tag, c);
}

int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
    use();
    return PMPI_Recv(b, n, t, from, tag, c, s);
}

int MPI_Barrier(MPI_Comm c)
{
    use();
    return PMPI_Barrier(c);
}

int MPI_Finalize(void)
{
    int rank = -1;
    pthread_t thread;
    use();
    if (pthread_create(&thread, NULL, other_thread, NULL) != 0 || pthread_join(thread, NULL) != 0)
        fail("pthread_create");
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict("ie_tls", rank, "");
    return PMPI_Finalize();
}

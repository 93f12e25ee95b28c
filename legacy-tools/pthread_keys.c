//# lang: c
//# mpi: both
//# libs: -lpthread
//# program: ring.c threads.c
//# expect-stdout: tool pthread_keys: ok calls=10 ended=1
/* pthread_keys: keeps values of its own in every thread, of the program and of its own.
 *
 * Hazard: two C libraries in one process hand out the same keys for the same slots of a thread: values change
 * without a word. And tables that a C library sets up per thread (<ctype.h>) are missing in threads that another
 * one created. `ended` counts the threads, started by the tool or the program, whose destructors ran for all keys.
 *
 * Build: mpicc -shared -fPIC -O2 pthread_keys.c -o pthread_keys.so -lpthread */
#include "verdict.h"
#include <ctype.h>
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <strings.h>

enum { KEYS = 5 };
static pthread_key_t keys[KEYS];
static int destroyed;

struct value {
    int key;
    pthread_t owner;
};

static void destroy(void *pointer)
{
    struct value *v = pointer;
    if (v->key < 0 || v->key >= KEYS || !pthread_equal(v->owner, pthread_self()))
        fail("a destructor got another thread's value");
    __atomic_add_fetch(&destroyed, 1, __ATOMIC_RELAXED);
    free(v);
}

__attribute__((constructor)) static void create_keys(void)
{
    for (int k = 0; k < KEYS; k++)
        if (pthread_key_create(&keys[k], destroy) != 0)
            fail("pthread_key_create");
}

/* First call in a thread: sets the values. Later calls: finds them as they were. */
static void check_values(void)
{
    int set = 0;
    for (int k = 0; k < KEYS; k++) {
        struct value *v = pthread_getspecific(keys[k]);
        if (!v) {
            v = malloc(sizeof *v);
            *v = (struct value) { k, pthread_self() };
            pthread_setspecific(keys[k], v);
            set++;
        } else if (v->key != k || !pthread_equal(v->owner, pthread_self())) {
            fail("the value of key %d changed", k);
        }
    }
    if (set != 0 && set != KEYS)
        fail("%d of %d values were lost", set, KEYS);
    if (!isalpha('q') || isalpha('7') || toupper('q') != 'Q' || strcasecmp("Mpi", "mPI") != 0)
        fail("<ctype.h> in a thread");
    count_call();
}

static void *own_thread(void *unused)
{
    check_values();
    check_values();
    return unused;
}

int MPI_Init_thread(int *argc, char ***argv, int wanted, int *got)
{
    check_values();
    return PMPI_Init_thread(argc, argv, wanted, got);
}

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    check_values();
    return PMPI_Send(b, n, t, to, tag, c);
}

int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
    check_values();
    return PMPI_Recv(b, n, t, from, tag, c, s);
}

int MPI_Barrier(MPI_Comm c)
{
    check_values();
    return PMPI_Barrier(c);
}

int MPI_Finalize(void)
{
    int rank = -1;
    pthread_t thread;
    check_values();
    if (pthread_create(&thread, NULL, own_thread, NULL) != 0 || pthread_join(thread, NULL) != 0)
        fail("pthread_create");
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict_with("pthread_keys", rank, "ended=%d%s", destroyed / KEYS, destroyed % KEYS ? " and a part" : "");
    return PMPI_Finalize();
}

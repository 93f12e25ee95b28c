//# lang: c
//# mpi: both
//# libs: -lpthread
//# ranks: 1
//# expect-stdout: exchanges_function: done
/* Four threads call MPI_Comm_rank while the function of layer 2 is exchanged for one of this program and back, as the argument says: a
 * function as PMPI tools have it, or as QMPI tools. The program's goes on to nothing. */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*function)(void);
extern int QMPIX_Tool_set_function_name(int tool_id, const char *name, function f, function *old) __attribute__((weak));

enum { THREADS = 4, LEAST = 1000, EXCHANGES = 20000 };
static atomic_int own, wrong, calls, is_over;

static int as_pmpi(MPI_Comm comm, int *rank)
{
    own++;
    wrong += comm != MPI_COMM_SELF;
    *rank = 0;
    return MPI_SUCCESS;
}

static int as_qmpi(void *context, int tool_id, MPI_Comm comm, int *rank)
{
    own++;
    wrong += comm != MPI_COMM_SELF || tool_id != 2 || !context;
    *rank = 0;
    return MPI_SUCCESS;
}

static void *call(void *unused)
{
    for (int i = 0; i < LEAST || !is_over; i++) {
        int rank = -1;
        calls++;
        if (MPI_Comm_rank(MPI_COMM_SELF, &rank) != MPI_SUCCESS || rank != 0)
            wrong++;
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, call, NULL);
    if (argc > 1) {
        function new = strcmp(argv[1], "qmpi") ? (function)as_pmpi : (function)as_qmpi, old, back;
        for (int i = 0; i < EXCHANGES; i++) {
            wrong += QMPIX_Tool_set_function_name(2, "MPI_Comm_rank", new, &old) != MPI_SUCCESS || old == new;
            if (i % 200 == 0)
                sched_yield();
            wrong += QMPIX_Tool_set_function_name(2, "MPI_Comm_rank", old, &back) != MPI_SUCCESS || back != new;
            if (i % 200 == 100)
                sched_yield();
        }
        wrong += QMPIX_Tool_set_function_name(2, "MPI_Comm_dup", new, NULL) == MPI_SUCCESS;
        wrong += QMPIX_Tool_set_function_name(2, "MPI_Nothing", new, NULL) == MPI_SUCCESS;
        wrong += QMPIX_Tool_set_function_name(2, "MPI_Comm_rank", NULL, NULL) == MPI_SUCCESS;
        wrong += QMPIX_Tool_set_function_name(1, "MPI_Comm_rank", new, NULL) == MPI_SUCCESS;
    }
    is_over = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (argc > 1)
        printf("exchanged: own=%d calls=%d wrong=%d\n", own, calls, wrong);
    fputs("exchanges_function: done\n", stdout);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

//# lang: c
//# cflags: -rdynamic -pthread
/* has_thread_local: a program with thread-local variables that a tool reads and changes (reads_thread_local.c), in two threads. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

__thread int of_this_thread = 3;
__thread int next_of_this_thread[4] = { 0, 0, 4, 0 };

static void *thread(void *start)
{
    int flag;
    of_this_thread = *(int *)start;
    MPI_Initialized(&flag);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, start = 100;
    pthread_t other;
    of_this_thread = 9;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    pthread_create(&other, NULL, thread, &start);
    pthread_join(other, NULL);
    thread(&(int){ 20 });
    printf("has_thread_local: %d %d\n", of_this_thread, next_of_this_thread[3]);
    MPI_Finalize();
    return 0;
}

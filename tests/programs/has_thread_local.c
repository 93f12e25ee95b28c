//# lang: c
//# cflags: -rdynamic
/* has_thread_local: a program with a thread-local variable that a tool reads. */
#include <mpi.h>

__thread int of_this_thread;

int main(int argc, char **argv)
{
    of_this_thread = 9;
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    return 0;
}

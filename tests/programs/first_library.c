//# role: companion
//# lang: c
//# mpi: both
//# needs-mpi: no
//# cflags: -ftls-model=global-dynamic -Wl,-z,initfirst
/* A library that wants to be initialized before all others; its constructor reads a thread-local variable of the program
 * (has_thread_local.c). */
extern __thread int of_this_thread;

static int at_start;

__attribute__((constructor)) static void start(void)
{
    at_start = of_this_thread;
}

int first_library(void)
{
    return at_start;
}

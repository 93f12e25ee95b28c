//# role: companion
//# lang: c
//# mpi: both
//# cflags: -fno-optimize-sibling-calls -Wl,-z,lazy
/* A tool with Fortran wrappers that crashes where CRASHES says so: `SIGFPE` or `SIGSEGV`, in MPI_Barrier. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

typedef MPI_Fint F;

void pmpi_barrier_(F *comm, F *error);
void mpi_barrier_(F *comm, F *error);
void pmpi_reduce_local_(void *in, void *inout, F *n, F *t, F *op, F *error);
void mpi_reduce_local_(void *in, void *inout, F *n, F *t, F *op, F *error);
void crashes_here(void);

__attribute__((noinline)) void crashes_here(void)
{
    const char *signal = getenv("CRASHES");
    if (signal && strcmp(signal, "SIGFPE") == 0)
        raise(SIGFPE);
    if (signal && strcmp(signal, "SIGSEGV") == 0)
        *(volatile int *)(size_t)strlen(signal) = 0;
    __asm__ volatile("");
}

void mpi_barrier_(F *comm, F *error)
{
    crashes_here();
    pmpi_barrier_(comm, error);
    __asm__ volatile("");
}

void mpi_reduce_local_(void *in, void *inout, F *n, F *t, F *op, F *error)
{
    pmpi_reduce_local_(in, inout, n, t, op, error);
    __asm__ volatile("");
}

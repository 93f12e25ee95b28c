//# lang: c
//# mpi: both
//# libs: -ldl -Wl,-z,lazy
/* fortran_counter: counts C calls, Fortran calls (mpi_send_) and calls through mpi_f08 (mpi_send_f08_) apart, and from where
 * they come. At the end rank 0 prints its own numbers, a line per function:
 *
 *     fortran_counter Send: c=0 fortran=2 f08=0 app=2
 *
 * `app` is how many of the calls return into the executable. FORTRAN_COUNTER=label sets the name at the start of the line.
 *
 * With -DC_ONLY (fortran_counter_c.c) the same without Fortran wrappers, with -DFORTRAN_ONLY (fortran_counter_f.c) without C's.
 *
 * The names of mpi_f08 differ: MPICH and Open MPI 6 pass buffers as descriptors (f08ts), and MPICH's profiling names begin
 * with pmpir_. They are bound late, as a C program is without MPI's Fortran library; Debian 13's mpicc.mpich asks for the contrary.
 *
 * Build: mpicc -shared -fPIC -O2 fortran_counter.c -o fortran_counter.so -ldl */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Name in C, in Fortran, ending of the name in MPICH's mpi_f08, number of Fortran's arguments. */
#define FUNCTIONS(X)                                                                                             \
    X(Init, init, f08, 1) X(Comm_rank, comm_rank, f08, 3) X(Send, send, f08ts, 7) X(Recv, recv, f08ts, 8)        \
    X(Isend, isend, f08ts, 8) X(Irecv, irecv, f08ts, 8) X(Waitall, waitall, f08, 4) X(Bcast, bcast, f08ts, 6)    \
    X(Allreduce, allreduce, f08ts, 7) X(Get_count, get_count, f08, 4) X(Comm_dup, comm_dup, f08, 3)              \
    X(Comm_free, comm_free, f08, 2) X(Comm_set_name, comm_set_name, f08, 4) X(Type_commit, type_commit, f08, 2)
#define AS_ENUM(f, lower, ending, n) F_##f,
#define AS_NAME(f, lower, ending, n) #f,
enum function { FUNCTIONS(AS_ENUM) F_Finalize, FUNCTION_COUNT };
static const char *const names[] = { FUNCTIONS(AS_NAME) "Finalize" };

enum binding { C, FORTRAN, F08, BINDINGS };
static int calls[FUNCTION_COUNT][BINDINGS], from_app[FUNCTION_COUNT];

static void note(enum function f, enum binding binding, void *site)
{
    char program[PATH_MAX] = "", file[PATH_MAX];
    Dl_info info;
    calls[f][binding]++;
    if (readlink("/proc/self/exe", program, sizeof program - 1) > 0 && dladdr(site, &info) && info.dli_fname
        && realpath(info.dli_fname, file))
        from_app[f] += strcmp(file, program) == 0;
}

/* Once, by whichever MPI_Finalize comes first; that call is counted, too. */
static void report(enum binding binding, void *site)
{
    static int reported;
    int rank = -1;
    const char *label = getenv("FORTRAN_COUNTER");
    note(F_Finalize, binding, site);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && !reported++)
        for (int f = 0; f < FUNCTION_COUNT; f++)
            printf("%s %s: c=%d fortran=%d f08=%d app=%d\n", label ? label : "fortran_counter", names[f],
                   calls[f][C], calls[f][FORTRAN], calls[f][F08], from_app[f]);
    fflush(stdout);
}

#define SITE __builtin_return_address(0)

#ifndef C_ONLY
#define PARAMS_1 void *a
#define PARAMS_2 void *a, void *b
#define PARAMS_3 void *a, void *b, void *c
#define PARAMS_4 void *a, void *b, void *c, void *d /* or the length of a string, as wide as a pointer */
#define PARAMS_6 void *a, void *b, void *c, void *d, void *e, void *f
#define PARAMS_7 void *a, void *b, void *c, void *d, void *e, void *f, void *g
#define PARAMS_8 void *a, void *b, void *c, void *d, void *e, void *f, void *g, void *h
#define ARGS_1 a
#define ARGS_2 a, b
#define ARGS_3 a, b, c
#define ARGS_4 a, b, c, d
#define ARGS_6 a, b, c, d, e, f
#define ARGS_7 a, b, c, d, e, f, g
#define ARGS_8 a, b, c, d, e, f, g, h

#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 6
#define F08_NAME(lower, ending) mpi_##lower##_##ending##_
#define F08_NEXT(lower, ending) pmpi_##lower##_##ending##_
#elif defined(OPEN_MPI)
#define F08_NAME(lower, ending) mpi_##lower##_f08_
#define F08_NEXT(lower, ending) pmpi_##lower##_f08_
#else
#define F08_NAME(lower, ending) mpi_##lower##_##ending##_
#define F08_NEXT(lower, ending) pmpir_##lower##_##ending##_
#endif

#define WRAP_AS(name, next, what, binding, n) \
    void next(PARAMS_##n);                    \
    void name(PARAMS_##n);                    \
    void name(PARAMS_##n)                     \
    {                                         \
        note(what, binding, SITE);            \
        next(ARGS_##n);                       \
    }
#define WRAP(f, lower, ending, n)                                      \
    WRAP_AS(mpi_##lower##_, pmpi_##lower##_, F_##f, FORTRAN, n)        \
    WRAP_AS(F08_NAME(lower, ending), F08_NEXT(lower, ending), F_##f, F08, n)
FUNCTIONS(WRAP)

void pmpi_finalize_(void *error);
void mpi_finalize_(void *error);
void mpi_finalize_(void *error)
{
    report(FORTRAN, SITE);
    pmpi_finalize_(error);
}

void F08_NEXT(finalize, f08)(void *error);
void F08_NAME(finalize, f08)(void *error);
void F08_NAME(finalize, f08)(void *error)
{
    report(F08, SITE);
    F08_NEXT(finalize, f08)(error);
}
#endif

#ifndef FORTRAN_ONLY
#define WRAP_C(f, ...)          \
    {                           \
        note(F_##f, C, SITE);   \
        return PMPI_##f(__VA_ARGS__); \
    }
int MPI_Init(int *argc, char ***argv) WRAP_C(Init, argc, argv)
int MPI_Comm_rank(MPI_Comm c, int *rank) WRAP_C(Comm_rank, c, rank)
int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c) WRAP_C(Send, b, n, t, to, tag, c)
int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
    WRAP_C(Recv, b, n, t, from, tag, c, s)
int MPI_Isend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r)
    WRAP_C(Isend, b, n, t, to, tag, c, r)
int MPI_Irecv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r)
    WRAP_C(Irecv, b, n, t, from, tag, c, r)
int MPI_Waitall(int n, MPI_Request r[], MPI_Status s[]) WRAP_C(Waitall, n, r, s)
int MPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c) WRAP_C(Bcast, b, n, t, root, c)
int MPI_Allreduce(const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c)
    WRAP_C(Allreduce, b, rb, n, t, op, c)
int MPI_Get_count(const MPI_Status *s, MPI_Datatype t, int *n) WRAP_C(Get_count, s, t, n)
int MPI_Comm_dup(MPI_Comm c, MPI_Comm *dup) WRAP_C(Comm_dup, c, dup)
int MPI_Comm_free(MPI_Comm *c) WRAP_C(Comm_free, c)
int MPI_Comm_set_name(MPI_Comm c, const char *name) WRAP_C(Comm_set_name, c, name)
int MPI_Type_commit(MPI_Datatype *t) WRAP_C(Type_commit, t)
int MPI_Finalize(void)
{
    report(C, SITE);
    return PMPI_Finalize();
}
#endif

/* counter: counts MPI calls of a program through GOTCHA, which changes the program's GOT; no MPI_ function is defined here.
 *
 * GOTCHA has no example with MPI. Rank by rank a line goes to COUNTER_DIRECTORY/calls.RANK at MPI_Finalize. */
#include <gotcha/gotcha.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNTED(F)                                                                                                     \
    F(MPI_Send, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n, t, to, tag, c))            \
    F(MPI_Isend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r),                  \
      (b, n, t, to, tag, c, r))                                                                                        \
    F(MPI_Irecv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r),                      \
      (b, n, t, from, tag, c, r))                                                                                      \
    F(MPI_Waitall, (int n, MPI_Request r[], MPI_Status s[]), (n, r, s))                                                \
    F(MPI_Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))                           \
    F(MPI_Allreduce, (const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c), (b, rb, n, t, op, c))    \
    F(MPI_Comm_dup, (MPI_Comm c, MPI_Comm *copy), (c, copy))                                                           \
    F(MPI_File_close, (MPI_File *f), (f))                                                                              \
    F(MPI_Barrier, (MPI_Comm c), (c))

#define WRAPPER(f, parameters, arguments)                                                                              \
    static gotcha_wrappee_handle_t next_##f;                                                                           \
    static long calls_##f;                                                                                             \
    static int wrap_##f parameters                                                                                     \
    {                                                                                                                  \
        int(*next) parameters = (int(*) parameters)gotcha_get_wrappee(next_##f);                                       \
        calls_##f++;                                                                                                   \
        return next arguments;                                                                                         \
    }
COUNTED(WRAPPER)

static gotcha_wrappee_handle_t next_MPI_Finalize;

static int wrap_MPI_Finalize(void)
{
    int (*next)(void) = (int (*)(void))gotcha_get_wrappee(next_MPI_Finalize);
    const char *directory = getenv("COUNTER_DIRECTORY");
    char name[1024];
    int rank;
    FILE *file;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "%s/calls.%d", directory ? directory : ".", rank);
    if ((file = fopen(name, "w"))) {
#define LINE(f, parameters, arguments) fprintf(file, "%s %ld\n", #f, calls_##f);
        COUNTED(LINE)
        fclose(file);
    }
    return next();
}

#define BINDING(f, parameters, arguments) { #f, (void *)wrap_##f, &next_##f },
static struct gotcha_binding_t bindings[] = { COUNTED(BINDING){ "MPI_Finalize", (void *)wrap_MPI_Finalize, &next_MPI_Finalize } };

__attribute__((constructor)) static void start(void)
{
    gotcha_wrap(bindings, sizeof bindings / sizeof *bindings, "counter");
}

//# lang: c
//# mpi: both
//# libs: -lunwind
//# program: frames.c
//# expect-stdout: tool unwind: ok calls=1 MPI_Send < app_inner < app_outer < main
/* unwind: walks the stack with libunwind, as mpiP and many others do to tell call sites apart.
 *
 * Hazard: libunwind finds unwind tables through dl_iterate_phdr, which lists the objects of the caller's namespace
 * only: the walk stops at the first frame of the program. And whatever lies between program and tool must not
 * leave a frame, or have unwind tables of its own. The line names the frames of the first MPI_Send.
 *
 * Build: mpicc -shared -fPIC -O2 unwind.c -o unwind.so -lunwind */
#define UNW_LOCAL_ONLY
#include "verdict.h"
#include <libunwind.h>
#include <mpi.h>
#include <string.h>

static char frames[300];

static void walk(void)
{
    unw_context_t context;
    unw_cursor_t cursor;
    void *addresses[64];
    int steps = 0, reached_main = 0;
    if (unw_getcontext(&context) != 0 || unw_init_local(&cursor, &context) != 0) {
        fail("unw_init_local");
        return;
    }
    while (!reached_main && unw_step(&cursor) > 0) { /* the first step leaves this function */
        char name[64] = "?";
        unw_word_t offset;
        unw_get_proc_name(&cursor, name, sizeof name, &offset);
        size_t length = strlen(frames);
        snprintf(frames + length, sizeof frames - length, "%s%s", length ? " < " : "", name);
        reached_main = strcmp(name, "main") == 0;
        steps++;
    }
    if (!reached_main)
        fail("the walk ends at: %s", frames);
    int depth = unw_backtrace(addresses, 64); /* a second walk in libunwind, with caches of its own */
    if (depth < steps)
        fail("unw_backtrace sees %d frames, unw_step %d", depth, steps);
}

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    count_call();
    if (!frames[0])
        walk();
    return PMPI_Send(b, n, t, to, tag, c);
}

int MPI_Finalize(void)
{
    int rank = -1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict("unwind", rank, frames);
    return PMPI_Finalize();
}

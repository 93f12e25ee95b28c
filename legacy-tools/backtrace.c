//# lang: c
//# mpi: both
//# libs: -ldl
//# program: frames.c
//# expect-stdout: tool backtrace: ok calls=1 from_executable=1 caller=app_inner
/* backtrace: takes the call site from the return address, and glibc's backtrace().
 *
 * Hazard: a tool that is called by something other than the program sees a return address of that something:
 * all call sites become one. Checked here: the return address is one of the frames of backtrace(), and one of
 * those frames is in the program. Reported: how many calls came straight from the program's own file.
 *
 * Build: mpicc -shared -fPIC -O2 backtrace.c -o backtrace.so -ldl */
#define _GNU_SOURCE
#include "verdict.h"
#include <dlfcn.h>
#include <execinfo.h>
#include <mpi.h>
#include <sys/auxv.h>

static int from_executable;
static char caller[64] = "?";

static int in_executable(void *address)
{
    Dl_info here, program;
    return dladdr(address, &here) && dladdr((void *)getauxval(AT_PHDR), &program)
           && here.dli_fbase == program.dli_fbase;
}

static void look_up(void *site)
{
    void *frames[64];
    int depth = backtrace(frames, 64), has_site = 0, has_program = 0;
    Dl_info info;
    count_call();
    for (int i = 0; i < depth; i++) {
        has_site |= frames[i] == site;
        has_program |= in_executable(frames[i]);
    }
    if (!has_site)
        fail("backtrace() with %d frames lacks the return address", depth);
    if (!has_program)
        fail("backtrace() does not reach the program");
    if (!dladdr(site, &info))
        fail("dladdr does not know the return address");
    else if (info.dli_sname)
        snprintf(caller, sizeof caller, "%s", info.dli_sname);
    from_executable += in_executable(site);
}

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    look_up(__builtin_return_address(0));
    return PMPI_Send(b, n, t, to, tag, c);
}

int MPI_Finalize(void)
{
    int rank = -1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict_with("backtrace", rank, "from_executable=%d caller=%s", from_executable, caller);
    return PMPI_Finalize();
}

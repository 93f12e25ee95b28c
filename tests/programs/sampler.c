//# role: companion
//# lang: c
//# mpi: both
//# libs: -lpthread -lrt
/* sampler: a PMPI tool that takes a sample of the stack at each SIGPROF, from a timer of 1 kHz, as profilers do.
 *
 *     SAMPLER=libunwind      unw_step; the tool is compiled with -DWITH_LIBUNWIND and linked with -lunwind
 *     SAMPLER=backtrace      backtrace(3)
 *     SAMPLER=unwind         _Unwind_Backtrace of libgcc_s (libunwind has one as well)
 *
 * Several instances share the process's signal: each calls the handler that was there before it. Rank 0 says at the end
 * `sampler: ok`, or how many samples were taken, and how many of them led to `main`. */
#define _GNU_SOURCE
#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>
#ifdef WITH_LIBUNWIND
#include <libunwind.h>
#endif

static struct sigaction before;
static timer_t timer;
static int samples, whole, frames, started;
static uintptr_t main_start, main_end;
static enum { LIBUNWIND, BACKTRACE, UNWIND } how;

static int is_main(uintptr_t address) { return address > main_start && address < main_end; }

static _Unwind_Reason_Code one_frame(struct _Unwind_Context *context, void *found)
{
    if (is_main((uintptr_t)_Unwind_GetIP(context)))
        *(int *)found = 1;
    __atomic_add_fetch(&frames, 1, __ATOMIC_RELAXED);
    return _URC_NO_REASON;
}

static void sample(void)
{
    int found = 0;
    if (how == LIBUNWIND) {
#ifdef WITH_LIBUNWIND
        unw_context_t context;
        unw_cursor_t cursor;
        unw_getcontext(&context);
        unw_init_local(&cursor, &context);
        for (int step = 0; step < 100 && unw_step(&cursor) > 0; step++) {
            unw_word_t ip = 0;
            unw_get_reg(&cursor, UNW_REG_IP, &ip);
            found |= is_main(ip);
            __atomic_add_fetch(&frames, 1, __ATOMIC_RELAXED);
        }
#endif
    } else if (how == BACKTRACE) {
        void *addresses[100];
        int depth = backtrace(addresses, 100);
        for (int i = 0; i < depth; i++)
            found |= is_main((uintptr_t)addresses[i]);
        __atomic_add_fetch(&frames, depth, __ATOMIC_RELAXED);
    } else {
        _Unwind_Backtrace(one_frame, &found);
    }
    __atomic_add_fetch(&samples, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&whole, found, __ATOMIC_RELAXED);
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    sample();
    if (before.sa_flags & SA_SIGINFO && before.sa_sigaction)
        before.sa_sigaction(signal, info, context);
}

static void start(void)
{
    const char *name = getenv("SAMPLER");
    struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF };
    struct itimerspec each = { { 0, 1000000 }, { 0, 1000000 } };
    how = name && strcmp(name, "backtrace") == 0 ? BACKTRACE : name && strcmp(name, "unwind") == 0 ? UNWIND : LIBUNWIND;
    sample(); /* backtrace(3) opens libgcc_s at its first call, which no handler may do */
    samples = whole = frames = 0;
    sigaction(SIGPROF, &action, &before);
    if (before.sa_flags & SA_SIGINFO)
        return; /* the other instance's timer serves both */
    started = 1;
    if (how == LIBUNWIND) {
        /* One thread only: two that walk at once, one of them inside dl_iterate_phdr, wait for each other's locks anywhere. */
        event.sigev_notify = SIGEV_THREAD_ID;
        event._sigev_un._tid = gettid();
    }
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &each, NULL);
}

static void find_main(void)
{
    Dl_info info;
    ElfW(Sym) *symbol = NULL;
    void *address = dlsym(RTLD_DEFAULT, "main");
    if (address && dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol) {
        main_start = (uintptr_t)address;
        main_end = main_start + symbol->st_size;
    }
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int result = PMPI_Init_thread(argc, argv, required, provided);
    find_main();
    start();
    return result;
}

int MPI_Finalize(void)
{
    int rank = -1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (started)
        timer_delete(timer);
    signal(SIGPROF, SIG_IGN);
    if (rank == 0) {
        /* Samples of other threads do not lead to main. */
        if (samples >= 20 && frames > 2 * samples && (!main_start || whole * 20 > samples))
            fputs("sampler: ok\n", stdout);
        else
            printf("sampler: FAILED samples=%d frames=%d to main=%d\n", samples, frames, whole);
    }
    return PMPI_Finalize();
}

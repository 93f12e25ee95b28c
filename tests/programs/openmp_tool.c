//# role: companion
//# lang: c
/* openmp_tool: counts parallel regions, which the run-time library of OpenMP tells it of (OMPT), and barriers. Compiled with -DGOES_ON it
   leaves the parallel regions to the next tool. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

/* What this file needs of omp-tools.h, which comes with Clang, not with GCC. */
typedef union {
    uint64_t value;
    void *pointer;
} Data;
typedef void (*Function)(void);
typedef Function (*LookUp)(const char *name);
typedef int (*SetCallback)(int event, Function callback);
enum { PARALLEL_BEGIN = 3 };
typedef struct {
    int (*initialize)(LookUp look_up, int device, Data *data);
    void (*finalize)(Data *data);
    Data data;
} Start;

static int regions, barriers;

static void parallel_begin(void)
{
    __atomic_add_fetch(&regions, 1, __ATOMIC_RELAXED);
}

static int initialize(LookUp look_up, int device, Data *data)
{
    (void) device;
    (void) data;
    ((SetCallback) look_up("ompt_set_callback"))(PARALLEL_BEGIN, parallel_begin);
    return 1;
}

static void finalize(Data *data)
{
    (void) data;
    fputs("openmp_tool: finalized\n", stdout);
}

Start *ompt_start_tool(unsigned version, const char *library)
{
#ifdef GOES_ON
    Start *(*next)(unsigned, const char *) = dlsym(RTLD_NEXT, "ompt_start_tool");
    return next ? next(version, library) : NULL;
#else
    static Start start = {initialize, finalize, {0}};
    (void) version;
    (void) library;
    return &start;
#endif
}

int MPI_Barrier(MPI_Comm comm)
{
    barriers++;
    return PMPI_Barrier(comm);
}

int MPI_Finalize(void)
{
    printf("openmp_tool: %d parallel regions, %d barriers\n", regions, barriers);
    return PMPI_Finalize();
}

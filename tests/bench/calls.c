/* calls: what one call of an MPI function costs, for functions with 2, 4, 7 and 12 arguments; on the null MPI also with 5.
 *
 *     calls             prints `function arguments ns` for each, and `cycle 0 ns`: how long a clock cycle lasts
 *     calls once        makes 2,000 calls of each, in functions that callgrind can tell apart
 *     calls layers N    the function with 2 arguments only, in batches that are short with N layers, too
 *
 * Every function is a cheap one: nothing is communicated with MPI_PROC_NULL. A batch is short, some 10 microseconds,
 * so that most batches see neither an interrupt nor another process; batches of the functions alternate; reported is
 * the lower decile. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CALLS = 2000, BATCHES = 400 };

static int in, out;

/* Four calls per turn: what is left of the loop is a quarter of a cycle. */
#define CALLER(name, call)                                  \
    __attribute__((noinline)) void call_##name(int turns)   \
    {                                                       \
        for (int turn = 0; turn < turns; turn++) {          \
            call;                                           \
            call;                                           \
            call;                                           \
            call;                                           \
        }                                                   \
    }

CALLER(Comm_rank, MPI_Comm_rank(MPI_COMM_WORLD, &out))
CALLER(Probe, MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE))
#ifdef NULL_MPI_H /* A real MPI does more for it than the others. */
CALLER(Bcast, MPI_Bcast(&in, 1, MPI_INT, 0, MPI_COMM_WORLD))
#endif
CALLER(Recv, MPI_Recv(&in, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE))
CALLER(Sendrecv, MPI_Sendrecv(&out, 1, MPI_INT, MPI_PROC_NULL, 1, &in, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD,
                              MPI_STATUS_IGNORE))

/* A chain of additions, one per cycle on every processor: the clock that a shared machine gives us. */
static void call_cycle(int turns)
{
    long sum = 0;
    for (int turn = 0; turn < turns; turn++)
#if defined __x86_64__
        __asm__ volatile("add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0" : "+r"(sum) : "r"((long)turn));
#elif defined __aarch64__
        __asm__ volatile("add %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1"
                         : "+r"(sum) : "r"((long)turn));
#endif
}

static const struct {
    const char *name;
    int arguments;
    void (*run)(int turns);
} subjects[] = {
    { "Comm_rank", 2, call_Comm_rank },
    { "Probe", 4, call_Probe },
#ifdef NULL_MPI_H
    { "Bcast", 5, call_Bcast },
#endif
    { "Recv", 7, call_Recv },
    { "Sendrecv", 12, call_Sendrecv },
    { "cycle", 0, call_cycle },
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

static double nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static double took[SUBJECTS][BATCHES];
    /* For `layers`: the first function only. */
    int layers = argc == 3 ? atoi(argv[2]) : 0;
    int subject_count = layers ? 1 : SUBJECTS;
    int turns = CALLS / 4 / (layers ? layers : 1);
    if (turns == 0)
        turns = 1;
    MPI_Init(&argc, &argv);
    for (int s = 0; s < subject_count; s++)
        subjects[s].run(turns);
    if (argc != 2) {
        for (int batch = 0; batch < BATCHES; batch++)
            for (int s = 0; s < subject_count; s++) {
                double start = nanoseconds();
                subjects[s].run(turns);
                took[s][batch] = (nanoseconds() - start) / (4 * turns);
            }
        for (int s = 0; s < subject_count; s++) {
            qsort(took[s], BATCHES, sizeof took[s][0], ascending);
            printf("%s %d %.4f\n", subjects[s].name, subjects[s].arguments, took[s][BATCHES / 10]);
        }
    }
    MPI_Finalize();
    return 0;
}

/* What sentinels_to_c.c and sentinels_on.c share: which functions they wrap, and what they count. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef MPI_Fint F;

enum function { ALLREDUCE, SENDRECV, WAITALL, DIST_GRAPH_CREATE_ADJACENT, COMM_SPAWN, FUNCTIONS };
static const char *const names[] = { "Allreduce", "Sendrecv", "Waitall", "Dist_graph_create_adjacent", "Comm_spawn" };

/* In the order of sentinels_of_fortran.f90. */
enum sentinel {
    IN_PLACE, BOTTOM, STATUS_IGNORE, STATUSES_IGNORE, UNWEIGHTED, WEIGHTS_EMPTY, ARGV_NULL, ERRCODES_IGNORE, SENTINELS
};
void sentinels_of_fortran(intptr_t addresses[SENTINELS]);

static int in_fortran[FUNCTIONS], in_c[FUNCTIONS], recognized[SENTINELS];

static void begin(enum function f) { in_fortran[f]++; }
static inline void begin_c(enum function f) { in_c[f]++; }

static int recognize(void *address, enum sentinel sentinel)
{
    intptr_t addresses[SENTINELS];
    sentinels_of_fortran(addresses);
    int is = (intptr_t)address == addresses[sentinel];
    recognized[sentinel] += is;
    return is;
}

/* Of a command of this name the arguments alone are looked at, for MPIs that cannot start processes: the call does not go on. */
static int is_answered(const char *command) { return strncmp(command, "answered", 8) == 0; }

static int answered(const char *command, F *children, F *error)
{
    *children = PMPI_Comm_c2f(MPI_COMM_NULL);
    *error = MPI_SUCCESS;
    return is_answered(command);
}

__attribute__((destructor)) static void report(void)
{
    static const int sentinel_of[] = { IN_PLACE, BOTTOM, STATUS_IGNORE, STATUSES_IGNORE, UNWEIGHTED, WEIGHTS_EMPTY, ARGV_NULL, ERRCODES_IGNORE };
    static const int function_of[] = { ALLREDUCE, SENDRECV, SENDRECV, WAITALL, DIST_GRAPH_CREATE_ADJACENT,
                                       DIST_GRAPH_CREATE_ADJACENT, COMM_SPAWN, COMM_SPAWN };
    for (int f = 0; f < FUNCTIONS; f++) {
        int count = 0;
        for (int s = 0; s < SENTINELS; s++)
            count += function_of[s] == f ? recognized[sentinel_of[s]] : 0;
        if (in_fortran[f] || in_c[f])
            printf("tool " TOOL ": %s fortran=%d c=%d recognized=%d\n", names[f], in_fortran[f], in_c[f], count);
    }
    fflush(stdout);
}

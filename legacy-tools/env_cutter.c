//# lang: c
//# mpi: both
//# env: ENV_CUTTER=-k,8,end
//# program: ring.c
//# expect-stdout: tool env_cutter: ok calls=2 words=3 then=-k
/* env_cutter: cuts its setting up into words, in the place where getenv has found it.
 *
 * Hazard: getenv returns the environment itself, so the first of two instances leaves half a setting to the second.
 * What a tool has cut itself it finds cut when it looks again.
 *
 * Build: mpicc -shared -fPIC -O2 env_cutter.c -o env_cutter.so */
#include "verdict.h"
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int words;

int MPI_Init(int *argc, char ***argv)
{
    int rc = PMPI_Init(argc, argv);
    count_call();
    char *setting = getenv("ENV_CUTTER"), *last = "(none)";
    for (char *word = setting ? strtok(setting, ",") : NULL; word; word = strtok(NULL, ",")) {
        words++;
        last = word;
    }
    if (strcmp(last, "end") != 0)
        fail("the last word of its setting is %s", last);
    return rc;
}

int MPI_Finalize(void)
{
    int rank = -1;
    count_call();
    const char *then = getenv("ENV_CUTTER");
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict_with("env_cutter", rank, "words=%d then=%s", words, then ? then : "(none)");
    return PMPI_Finalize();
}

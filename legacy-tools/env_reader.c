//# lang: c
//# mpi: both
//# env: ENV_READER=hello
//# program: ring.c
//# expect-stdout: tool env_reader: ok calls=2 getenv=hello secure_getenv=hello
/* env_reader: reads its setting from the environment: in a constructor, and again in MPI_Init.
 *
 * Hazard: two copies of a tool share one environment, and so get the same settings, unless each is served a value
 * of its own, from getenv and secure_getenv alike. What the tool sets itself it must find again.
 *
 * Build: mpicc -shared -fPIC -O2 env_reader.c -o env_reader.so */
#define _GNU_SOURCE
#include "verdict.h"
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static char early[80], later[80], secure[80];

static void keep(char *room, const char *value) { snprintf(room, 80, "%s", value ? value : "(none)"); }

__attribute__((constructor)) static void read_early(void) { keep(early, getenv("ENV_READER")); }

int MPI_Init(int *argc, char ***argv)
{
    count_call();
    keep(later, getenv("ENV_READER"));
    keep(secure, secure_getenv("ENV_READER"));
    if (strcmp(early, later) != 0)
        fail("%s in the constructor, %s in MPI_Init", early, later);
    return PMPI_Init(argc, argv);
}

int MPI_Finalize(void)
{
    int rank = -1;
    count_call();
    setenv("ENV_READER_SET", "by the tool", 1);
    const char *set = getenv("ENV_READER_SET");
    if (!set || strcmp(set, "by the tool") != 0)
        fail("getenv does not find what setenv has set");
    if (getenv("ENV_READER_NEVER_SET"))
        fail("getenv finds what has never been set");
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict_with("env_reader", rank, "getenv=%s secure_getenv=%s", later, secure);
    return PMPI_Finalize();
}

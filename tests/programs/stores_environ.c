//# role: companion
//# lang: c
//# mpi: both
/* stores_environ: a tool that stores an array of its own to `environ`, and goes on with getenv, setenv and a child process. */
#define _GNU_SOURCE
#include "../../legacy-tools/verdict.h"
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void same(const char *name, const char *expected)
{
    const char *value = getenv(name);
    if (!value != !expected || (value && strcmp(value, expected) != 0))
        fail("%s is %s", name, value ? value : "(none)");
}

int MPI_Finalize(void)
{
    static char one[] = "STORED=1", path[] = "PATH=/usr/bin:/bin";
    static char *array[] = { one, path, NULL };
    count_call();
    int result = PMPI_Finalize();
    same("STORES", "1");
    environ = array;
    same("STORED", "1");
    same("STORES", NULL);
    setenv("STORED_LATER", "2", 1);
    same("STORED", "1");
    same("STORED_LATER", "2");
    same("STORES", NULL);
    if (system("test \"$STORED$STORED_LATER$STORES\" = 12") != 0)
        fail("a child process has another environment");
    verdict("stores_environ", 0, "");
    return result;
}

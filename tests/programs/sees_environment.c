//# role: companion
//# lang: c
//# mpi: both
/* sees_environment: a tool that shows what it finds in `environ`, and sets a variable if it is told to. */
#define _GNU_SOURCE
#include "../../legacy-tools/verdict.h"
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *find(const char *name)
{
    size_t length = strlen(name);
    for (char **entry = environ; *entry; entry++)
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=')
            return *entry + length + 1;
    return "(none)";
}

int MPI_Init(int *argc, char ***argv)
{
    count_call();
    /* The program has set this before. */
    if (strcmp(find("OF_PROGRAM"), "still mine") != 0)
        fail("OF_PROGRAM is %s", find("OF_PROGRAM"));
    if (getenv("SEES_SETS")) {
        setenv("SEES_TOOL", "by a", 1);
        setenv("ENVIRON_READER_SET", "by the tool", 1);
    }
    return PMPI_Init(argc, argv);
}

int MPI_Finalize(void)
{
    count_call();
    verdict_with("sees_environment", 0, "own=%s program=%s tool=%s", find("SEES"), find("SET_BY_PROGRAM"),
                 find("SEES_TOOL"));
    return PMPI_Finalize();
}

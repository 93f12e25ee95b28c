//# lang: c
//# mpi: both
//# twice: no, the outer one unsets what the inner one looks for
//# env: ENVIRON_READER=hello
//# program: ring.c
//# expect-stdout: tool environ_reader: ok calls=2 constructor=hello init=hello once
/* environ_reader: looks for its settings in `environ`, never with getenv; changes the environment itself.
 *
 * Hazard: two copies of a tool share one `environ`, and so get the same settings, unless each has a variable of its own, under
 * all three names. What the tool sets and unsets it must find again, by both ways, and its child processes as well.
 *
 * Build: mpicc -shared -fPIC -O2 environ_reader.c -o environ_reader.so */
#define _GNU_SOURCE
#include "verdict.h"
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **__environ, **_environ;
static char early[80], later[80];
static int times;

/* The last value of a name in `environ`, and how often the name stands there. */
static const char *find(const char *name)
{
    const char *found = NULL;
    times = 0;
    if (environ != __environ || environ != _environ)
        fail("environ, __environ and _environ differ");
    for (char **entry = environ; entry && *entry; entry++) {
        size_t length = strlen(name);
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') {
            found = *entry + length + 1;
            times++;
        }
    }
    return found;
}

static void same(const char *name, const char *expected)
{
    const char *there = find(name), *asked = getenv(name);
    if (!expected) {
        if (there || asked)
            fail("%s is there: %s, %s", name, there ? there : "(none)", asked ? asked : "(none)");
    } else if (!there || !asked || strcmp(there, expected) != 0 || strcmp(there, asked) != 0 || times != 1)
        fail("%s is %s and %s, not %s", name, there ? there : "(none)", asked ? asked : "(none)", expected);
}

static void keep(char *room, const char *value) { snprintf(room, 80, "%s", value ? value : "(none)"); }

__attribute__((constructor)) static void begin(void) { keep(early, find("ENVIRON_READER")); }

int MPI_Init(int *argc, char ***argv)
{
    static char put[] = "ENVIRON_READER_PUT=put";
    count_call();
    keep(later, find("ENVIRON_READER"));
    int once = times;
    same("ENVIRON_READER", later);
    setenv("ENVIRON_READER_SET", "by the tool", 1);
    same("ENVIRON_READER_SET", "by the tool");
    setenv("ENVIRON_READER_SET", "again", 0);
    same("ENVIRON_READER_SET", "by the tool");
    putenv(put);
    same("ENVIRON_READER_PUT", "put");
    put[19] = 'P';
    same("ENVIRON_READER_PUT", "Put");
    unsetenv("ENVIRON_READER_PUT");
    same("ENVIRON_READER_PUT", NULL);
    setenv("ENVIRON_READER", "not this", 0);
    same("ENVIRON_READER", later);
    for (int number = 0; number < 200; number++) {
        char name[40];
        snprintf(name, sizeof name, "ENVIRON_READER_%d", number);
        setenv(name, "x", 1);
        same(name, "x");
        unsetenv(name);
        same(name, NULL);
    }
    if (once != 1)
        fail("it stands there %d times", once);
    return PMPI_Init(argc, argv);
}

int MPI_Finalize(void)
{
    int rank = -1;
    count_call();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    same("ENVIRON_READER", later);
    /* What the program has set between. */
    if (getenv("SET_BY_PROGRAM"))
        same("SET_BY_PROGRAM", "program");
    setenv("ENVIRON_READER", "changed", 1);
    same("ENVIRON_READER", "changed");
    if (system("test \"$ENVIRON_READER\" = changed") != 0)
        fail("a child process does not see what the tool has set");
    unsetenv("ENVIRON_READER");
    same("ENVIRON_READER", NULL);
    if (getenv("ENVIRON_READER_CLEARS")) {
        clearenv();
        same("PATH", NULL);
        setenv("ENVIRON_READER", "after", 1);
        same("ENVIRON_READER", "after");
    }
    verdict_with("environ_reader", rank, "constructor=%s init=%s once", early, later);
    return PMPI_Finalize();
}

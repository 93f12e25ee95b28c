//# lang: c
//# mpi: both
//# libs: -lpthread
//# program: ring.c
//# expect-stdout: tool forks: ok calls=2
/* forks: starts a child process inside its wrapper of MPI_Init.
 *
 * Hazard: fork() prepares the C library's locks (malloc, stdio) and runs pthread_atfork handlers, but those of
 * one C library only. The child uses the heap, stdio and the environment, and its status says what it found.
 *
 * Build: mpicc -shared -fPIC -O2 forks.c -o forks.so -lpthread */
#include "verdict.h"
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int in_parent, in_child, parent_before; /* others may fork as well */

static void after_in_parent(void) { in_parent++; }
static void after_in_child(void) { in_child++; }

__attribute__((constructor)) static void register_handlers(void)
{
    if (pthread_atfork(NULL, after_in_parent, after_in_child) != 0)
        fail("pthread_atfork");
}

/* Returns what the child ends with; 0 if all is well. */
static int child(int pipe_end)
{
    const char *mark = getenv("FORKS_MARK");
    char *text = malloc(1000);
    FILE *out = fdopen(pipe_end, "w");
    if (!mark || strcmp(mark, "set by the parent") != 0)
        return 1;
    if (in_child != 1 || in_parent != parent_before)
        return 2;
    if (!text || !out || snprintf(text, 1000, "%d %s", 7, mark) < 0)
        return 3;
    return fprintf(out, "%s\n", text) > 0 && fclose(out) == 0 ? 0 : 4;
}

static void run_child(void)
{
    int ends[2], status = -1;
    char said[100] = "";
    if (setenv("FORKS_MARK", "set by the parent", 1) != 0 || pipe(ends) != 0)
        fail("pipe");
    parent_before = in_parent;
    pid_t pid = fork();
    if (pid == 0)
        _exit(child(ends[1]));
    close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    if (!in || !fgets(said, sizeof said, in) || strcmp(said, "7 set by the parent\n") != 0)
        fail("the child said '%s'", said);
    if (in)
        fclose(in);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail("the child ended with status %d", status);
    if (in_parent != parent_before + 1 || in_child != 0)
        fail("atfork handlers: %d in the parent", in_parent);
}

int MPI_Init(int *argc, char ***argv)
{
    count_call();
    run_child();
    return PMPI_Init(argc, argv);
}

int MPI_Finalize(void)
{
    int rank = -1;
    count_call();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict("forks", rank, "");
    return PMPI_Finalize();
}

//# lang: c
//# mpi: both
//# ranks: 2
//# expect-stdout: program: called
/* A program with exit handlers of its own. Its argument says how it ends:
 *   (none)   returns from main after MPI_Finalize
 *   middle   exit(3) without MPI_Finalize; the handler that was registered first calls it
 *   thread   exit(0) in another thread, after MPI_Finalize
 *   fork     a child that exits, then as without an argument
 *   quick    quick_exit(4)
 *   now      _exit(5)
 *   abort    MPI_Abort with status 6 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, finalizes;

static void say(const char *what)
{
    if (rank == 0)
        printf("program: %s\n", what);
}

static void first(void)
{
    say("handler from before MPI_Init");
    if (finalizes)
        MPI_Finalize();
}

static void second(void) { say("handler from behind MPI_Init"); }
static void third(void) { say("handler from behind MPI_Finalize"); }
static void quick(void) { say("handler of quick_exit"); }

__attribute__((destructor)) static void end(void) { say("destructor"); }

static void *ends(void *unused)
{
    (void)unused;
    exit(0);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    atexit(first);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    atexit(second);
    at_quick_exit(quick);
    int one = 1, sum = 0;
    MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    say("called");
    if (strcmp(mode, "middle") == 0) {
        finalizes = 1;
        exit(3);
    }
    if (strcmp(mode, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 6);
    MPI_Finalize();
    atexit(third);
    if (strcmp(mode, "quick") == 0)
        quick_exit(4);
    if (strcmp(mode, "now") == 0)
        _exit(5);
    if (strcmp(mode, "thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, ends, NULL);
        pthread_join(thread, NULL);
    }
    if (strcmp(mode, "fork") == 0) {
        pid_t child = fork();
        if (child == 0)
            exit(0);
        waitpid(child, NULL, 0);
        say("child has ended");
    }
    return 0;
}

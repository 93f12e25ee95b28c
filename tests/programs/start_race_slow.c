//# role: companion
//# lang: c
//# mpi: both
//# cflags: -Wl,-z,now
//# libs: -ldl -lpthread
/* start_race_slow: a PMPI tool whose constructor takes 200 ms, so that other threads can do something during start-up.
 *
 *     START_RACE_TOOL=fork-call   the constructor forks, and the child makes MPI calls
 *     START_RACE_TOOL=fork-exec   the constructor forks, and the child executes /bin/true
 *     START_RACE_TOOL=thread      a thread of the constructor's forks, and the child makes MPI calls
 *
 * Rank 0 prints `start_race_slow: calls=N`. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int calls, status = -1, forked;

int MPI_Initialized(int *flag)
{
    __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    return PMPI_Initialized(flag);
}

int MPI_Finalize(void)
{
    int rank = -1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        printf("start_race_slow: calls=%d", calls);
        if (forked)
            printf(" child=%d", status);
        fputs("\n", stdout);
    }
    return PMPI_Finalize();
}

static void *forks(void *how)
{
    forked = 1;
    pid_t child = fork();
    if (child == 0) {
        int is = -1, version = 0, subversion = 0;
        alarm(6);
        unsetenv("START_RACE_TOOL"); /* the tool may be preloaded there too */
        if (strcmp(how, "fork-exec") == 0)
            execl("/bin/true", "true", (char *)NULL);
        /* Its own wrapper and the MPI library's function; MPI_Get_version is not wrapped here. */
        if (PMPI_Initialized(&is) != MPI_SUCCESS || is)
            _exit(3);
        if (MPI_Get_version(&version, &subversion) != MPI_SUCCESS || version < 3)
            _exit(4);
        _exit(0);
    }
    waitpid(child, &status, 0);
    return NULL;
}

__attribute__((constructor)) static void slow(void)
{
    static char text[32];
    const char *setting = getenv("START_RACE_TOOL");
    char *how = setting ? strncpy(text, setting, sizeof text - 1) : NULL;
    alarm(12); /* a deadlock ends in time */
    /* The program's semaphore, where this is start_race.c: the base's, also from a private namespace. */
    sem_t *in_tool = dlsym(RTLD_DEFAULT, "start_race_in_tool");
    if (in_tool)
        sem_post(in_tool);
    if (how && strcmp(how, "thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, forks, how);
        pthread_join(thread, NULL);
    } else if (how) {
        forks(how);
    }
    usleep(200 * 1000);
}

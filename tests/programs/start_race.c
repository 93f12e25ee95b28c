//# role: companion
//# lang: c
//# mpi: both
//# needs-mpi: no
//# companion: start_race_user.c
//# companion: start_race_constructor.c
//# companion: start_race_slow.c
//# cflags: -Wl,-rpath,$ORIGIN
//# libs: -ldl -lpthread -rdynamic
/* A program without MPI that opens libraries with MPI in several threads at once: start_race CASE
 *
 *     constructor     one thread is in a constructor, with the dynamic linker's lock, and makes its first MPI call there, while
 *                     another makes its own
 *     two             two threads open a library each, whose constructors call MPI
 *     two-same        the same library
 *     fork-call       one thread makes the first MPI call; meanwhile another forks, and the child makes MPI calls
 *     fork-exec       the same, and the child executes a program (itself, with `child`)
 *
 * Prints `start_race: CASE ok`; what hangs is ended by SIGALRM. */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

sem_t start_race_in_constructor, start_race_in_tool; /* libraries post these */
int start_race_posts;

static void *user;
static int (*call)(void);
static char *own_name;
static int child_status = -1;
static pthread_barrier_t barrier;

static void *must_open(const char *name)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "start_race: %s\n", dlerror());
        exit(1);
    }
    return library;
}

static void *opens_constructor(void *unused)
{
    (void)unused;
    must_open("start_race_constructor.so");
    return NULL;
}

static void *opens(void *name)
{
    pthread_barrier_wait(&barrier);
    must_open(name);
    return NULL;
}

static void *calls(void *unused)
{
    (void)unused;
    if (call() != 0)
        exit(1);
    return NULL;
}

static void *forks(void *how)
{
    /* While the tool's constructor sleeps; without such a tool, at once. */
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 1;
    sem_timedwait(&start_race_in_tool, &end);
    pid_t child = fork();
    if (child == 0) {
        alarm(6);
        if (strcmp(how, "fork-exec") == 0)
            execl("/proc/self/exe", own_name, "child", (char *)NULL);
        else
            for (int i = 0; i < 3; i++)
                if (call() != 0)
                    _exit(3);
        _exit(strcmp(how, "fork-exec") == 0 ? 4 : 0);
    }
    waitpid(child, &child_status, 0);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "";
    pthread_t first, second;
    own_name = argv[0];
    alarm(12);
    sem_init(&start_race_in_constructor, 0, 0);
    sem_init(&start_race_in_tool, 0, 0);
    pthread_barrier_init(&barrier, NULL, 2);
    if (strcmp(which, "two") == 0 || strcmp(which, "two-same") == 0) {
        start_race_posts = 0;
        pthread_create(&first, NULL, opens, "start_race_user.so");
        pthread_create(&second, NULL, opens, which[3] ? "start_race_user.so" : "start_race_constructor.so");
        pthread_join(first, NULL);
        pthread_join(second, NULL);
        user = must_open("start_race_user.so");
    } else {
        user = must_open("start_race_user.so");
        call = (int (*)(void))dlsym(user, "start_race_call");
        if (strcmp(which, "constructor") == 0) {
            start_race_posts = 1;
            pthread_create(&first, NULL, opens_constructor, NULL);
            sem_wait(&start_race_in_constructor);
            pthread_create(&second, NULL, calls, NULL);
        } else if (strncmp(which, "fork", 4) == 0) {
            pthread_create(&first, NULL, forks, (void *)which);
            pthread_create(&second, NULL, calls, NULL);
        } else { /* child */
            return call();
        }
        pthread_join(first, NULL);
        pthread_join(second, NULL);
        if (which[0] == 'f' && child_status != 0) {
            printf("start_race: the child ended with wait status %d\n", child_status);
            return 1;
        }
    }
    int (*run)(void) = (int (*)(void))dlsym(user, "start_race_run");
    if (run() != 0)
        return 1;
    printf("start_race: %s ok\n", which);
    return 0;
}

//# role: companion
//# lang: c
//# mpi: both
//# cflags: -rdynamic
//# libs: -ldl -lpthread
/* A program that is busy in everything that a signal must be able to interrupt: sampled SECONDS [LIBRARY...]
 *
 * It allocates, frees, asks the dynamic linker, and calls MPI; with libraries, threads open and close one each meanwhile.
 *
 *     SAMPLED=no-linker      it does not ask the dynamic linker: a signal between the two steps in which glibc takes the linker's lock
 *                            finds it taken, without an owner, and a handler that takes it too (libunwind's) waits for ever */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int stop;
static int wrong, asks_linker;

static void *open_and_close(void *path)
{
    while (!stop) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        int (*part)(void) = library ? (int (*)(void))dlsym(library, "opened_part") : NULL;
        if (!part || part() != 7 || dlclose(library) != 0)
            __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static int one_object(struct dl_phdr_info *info, size_t size, void *count)
{
    (void)info;
    (void)size;
    ++*(int *)count;
    return 0;
}

static void __attribute__((noinline)) busy(void)
{
    void *blocks[64];
    int one = 1, sum = 0, objects = 0;
    for (int i = 0; i < 64; i++) {
        blocks[i] = malloc(16 + (size_t)i * 37);
        memset(blocks[i], i, 16 + (size_t)i * 37);
    }
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (asks_linker)
        dl_iterate_phdr(one_object, &objects);
    if (sum < 1 || (asks_linker && (objects < 3 || !dlsym(RTLD_DEFAULT, "getpid") || dlsym(RTLD_DEFAULT, "no_such_function"))))
        __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 64; i++)
        free(blocks[i]);
}

int main(int argc, char **argv)
{
    pthread_t threads[8];
    int provided, count = argc - 2;
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    if (count > 8)
        return 2;
    const char *sampled = getenv("SAMPLED");
    asks_linker = !sampled || strcmp(sampled, "no-linker") != 0;
    alarm((unsigned)seconds + 20); /* a deadlock ends in time */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, open_and_close, argv[2 + i]);
    double end = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end)
        busy();
    stop = 1;
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    MPI_Finalize();
    printf("sampled: %d wrong\n", wrong);
    return 0;
}

//# role: companion
//# lang: c
//# libs: -ldl -lpthread
/* uses_files: opens files, allocates, makes threads and opens a library in every way in which a program refers to a function. Says what
 * it did on stdout, for tools that wrap these functions (wraps_files.c).
 *
 *     uses_files DIRECTORY LIBRARY */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern int wraps_files_event(int) __attribute__((weak));
typedef int opener(const char *, int, ...);
static opener *const by_pointer[] = { open };
static char path[4096];

static int use(const char *how, int descriptor)
{
    if (descriptor < 0 || write(descriptor, how, strlen(how)) < 0 || close(descriptor)) {
        perror(how);
        exit(1);
    }
    return 0;
}

static void *run(void *argument)
{
    use("thread", open(path, O_CREAT | O_WRONLY, 0600));
    return argument;
}

static void at_exit(void)
{
    use("exit", open(path, O_CREAT | O_WRONLY, 0600));
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    snprintf(path, sizeof path, "%s/marker", argv[1]);
    atexit(at_exit);
    use("call", open(path, O_CREAT | O_WRONLY, 0600));
    MPI_Init(&argc, &argv);
    use("pointer", by_pointer[0](path, O_WRONLY | O_TRUNC));
    use("look-up", ((opener *) dlsym(RTLD_DEFAULT, "open"))(path, O_WRONLY));
    use("look-up in the program", ((opener *) dlsym(dlopen(NULL, RTLD_LAZY), "open"))(path, O_WRONLY));
    int descriptor = open(path, O_RDWR);
    int flags = fcntl(descriptor, F_GETFL);
    int changed = fcntl(descriptor, F_SETFL, flags | O_APPEND);
    printf("marker: fcntl %d %d %d\n", flags & O_ACCMODE, changed, !!(fcntl(descriptor, F_GETFL) & O_APPEND));
    close(descriptor);

    pthread_t threads[2];
    char argument[] = "marker";
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run, argument);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);

    void *block = malloc(77777);
    memset(block, 'x', 77776);
    ((char *) block)[77776] = 0;
    char *copy = strdup(block); /* the C library's own call of malloc */
    printf("marker: %zu %.3s %s\n", strlen(copy), copy, "and more");
    free(copy);
    free(block);

    void *library = dlopen(argv[2], RTLD_NOW);
    if (!library) {
        printf("%s\n", dlerror());
        return 1;
    }
    int (*late_files)(const char *) = (int (*)(const char *)) dlsym(library, "late_files");
    printf("late: %d\n", late_files(path));

    MPI_File file;
    char byte = 7;
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    int (*event)(int) = (int (*)(int)) dlsym(RTLD_DEFAULT, "wraps_files_event");
    printf("event: %d %d %s\n", wraps_files_event ? wraps_files_event(41) : 0, event ? event(1) : 0,
           dlerror() ? "an error" : "no error");
    MPI_Finalize();
    return 0;
}

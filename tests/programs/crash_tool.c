//# role: companion
//# needs-mpi: no
//# cflags: -g -O1 -Wl,-z,separate-code
// A tool that crashes in the way that its variable CRASH names.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int PMPI_Barrier(MPI_Comm comm);

static volatile int zero;

static int is(const char *what) {
    const char *crash = getenv("CRASH");
    return crash && strcmp(crash, what) == 0;
}

__attribute__((noinline)) static void write_there(volatile int *place) {
    *place = 1;
    __asm__ volatile("");
}

__attribute__((noinline)) static int for_ever(volatile int depth) {
    volatile char room[256];
    room[depth % 256] = (char)depth;
    return for_ever(depth + 1) + room[0];
}

static void *crash_in_thread(void *place) {
    write_there(place);
    return NULL;
}

static void *overflow_in_thread(void *unused) {
    for_ever(0);
    return unused;
}

__attribute__((constructor)) static void begin(void) {
    if (is("constructor")) write_there(NULL);
}

__attribute__((destructor)) static void end(void) {
    if (is("destructor")) abort();
}

static void run(void *(*function)(void *)) {
    pthread_t thread;
    pthread_create(&thread, NULL, function, NULL);
    pthread_join(thread, NULL);
}

int MPI_Barrier(MPI_Comm comm) {
    int result;
    if (is("null")) write_there(NULL);
    if (is("overflow")) for_ever(0);
    if (is("overflow in a thread")) run(overflow_in_thread);
    if (is("thread")) run(crash_in_thread);
    if (is("memset")) memset((void *)8, 1, 100000);
    if (is("jump")) ((void (*)(void))8)();
    if (is("division")) printf("%d\n", 100 / zero);
    if (is("trap")) __builtin_trap();
    result = PMPI_Barrier(comm);
    __asm__ volatile("");
    return result;
}

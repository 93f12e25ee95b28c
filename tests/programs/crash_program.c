//# role: companion
// A program that crashes, or deals with a crash, in the way that its argument names, after MPI_Init and MPI_Barrier.
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static sigjmp_buf back;

static void say(const char *text) {
    if (write(1, text, strlen(text)) < 0) _exit(9);
}

__attribute__((noinline)) static void write_there(volatile int *place) {
    *place = 1;
    __asm__ volatile("");
}

static void recover(int signal) {
    (void)signal;
    siglongjmp(back, 1);
}

static void tell_and_return(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    say(info->si_addr == (void *)16 ? "the handler ran, address 16\n" : "the handler ran\n");
}

static void tell_and_exit(int signal) {
    (void)signal;
    say("the handler ran\n");
    _exit(23);
}

static void tell_and_raise(int number) {
    say("the handler ran\n");
    signal(number, SIG_DFL);
    raise(number);
}

static void *crash_in_thread(void *place) {
    write_there(place);
    return NULL;
}

static void set(int number, void (*handler)(int), int flags) {
    struct sigaction action, old;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(number, &action, &old);
    sigaction(number, NULL, &old);
    say(old.sa_handler == handler && (old.sa_flags & SA_ONSTACK) == 0 ? "set\n" : "another one is set\n");
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    if (strcmp(what, "before") != 0) MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(what, "null") == 0) write_there(NULL);
    if (strcmp(what, "abort") == 0) abort();
    if (strcmp(what, "raise") == 0) raise(SIGFPE);
    if (strcmp(what, "recover") == 0) {
        for (int round = 0; round < 3; round++) {
            set(SIGSEGV, recover, 0);
            if (sigsetjmp(back, 1) == 0) write_there(NULL);
        }
        say("recovered\n");
    }
    if (strcmp(what, "returns") == 0) {
        set(SIGSEGV, (void (*)(int))tell_and_return, SA_SIGINFO | SA_RESETHAND);
        write_there((int *)16);
    }
    if (strcmp(what, "exits") == 0) {
        set(SIGSEGV, tell_and_exit, 0);
        write_there(NULL);
    }
    if (strcmp(what, "raises") == 0) {
        signal(SIGSEGV, tell_and_raise);
        write_there(NULL);
    }
    if (strcmp(what, "abort returns") == 0) {
        set(SIGABRT, (void (*)(int))tell_and_return, SA_SIGINFO);
        abort();
    }
    if (strcmp(what, "thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, crash_in_thread, NULL);
        pthread_join(thread, NULL);
    }
    MPI_Finalize();
    say("done\n");
    return 0;
}

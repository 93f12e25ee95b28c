//# role: companion
//# lang: c
//# mpi: both
//# cflags: -rdynamic
//# libs: -ldl
/* refers_to_tool: a program that uses a tool's function and variable where they are there, by weak references and by look-ups. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

extern int of_the_tool __attribute__((weak));
extern int number_of_the_tool(void) __attribute__((weak));

int of_the_program = 7;

int hook_of_the_program(int n);

int hook_of_the_program(int n)
{
    return n;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int *variable = dlsym(RTLD_DEFAULT, "of_the_tool");
    int (*function)(void) = (int (*)(void)) dlsym(RTLD_DEFAULT, "number_of_the_tool");
    printf("program: references %d %d, look-ups %d %d\n", number_of_the_tool ? number_of_the_tool() : 0,
           &of_the_tool ? of_the_tool : 0, function ? function() : 0, variable ? *variable : 0);
    MPI_Finalize();
    return 0;
}

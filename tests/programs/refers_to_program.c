//# role: companion
//# lang: c
//# mpi: both
//# cflags: -Wl,-z,lazy
/* refers_to_program: a tool that refers to a variable and, weakly, to a function of the program (refers_to_tool.c), and has a function and a
 * variable that the program asks for. With -DNUMBER=2 it is another tool with the same names. */
#include <mpi.h>
#include <stdio.h>

#ifndef NUMBER
#define NUMBER 1
#endif

extern int of_the_program;
extern int hook_of_the_program(int n) __attribute__((weak));

int of_the_tool = 10 * NUMBER;

int number_of_the_tool(void);

int number_of_the_tool(void)
{
    return NUMBER;
}

int MPI_Init(int *argc, char ***argv)
{
    int result = PMPI_Init(argc, argv);
    printf("tool %d: variable %d, weak reference %s\n", NUMBER, of_the_program, hook_of_the_program ? "bound" : "null");
    return result;
}

//# lang: c
//# mpi: both
//# ranks: 1
//# expect-stdout: asks_for_parent: done
/* Calls getppid ten times with layer 1 off, and three times with it on. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

extern int QMPIX_Tool_enable(int tool_id) __attribute__((weak));
extern int QMPIX_Tool_disable(int tool_id) __attribute__((weak));

int main(int argc, char **argv)
{
    pid_t parent;
    int wrong = 0;
    MPI_Init(&argc, &argv);
    if (QMPIX_Tool_disable)
        QMPIX_Tool_disable(1);
    parent = getppid();
    for (int i = 0; i < 9; i++)
        wrong += getppid() != parent;
    if (QMPIX_Tool_enable)
        QMPIX_Tool_enable(1);
    for (int i = 0; i < 3; i++)
        wrong += getppid() != parent;
    printf("asks_for_parent: %s\n", wrong ? "wrong" : "done");
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

//# role: companion
//# lang: c
//# mpi: both
//# needs-mpi: no
/* The library of opens_again.c. */
#include <unistd.h>

int opens_again_part(void)
{
    return getppid() != 0;
}

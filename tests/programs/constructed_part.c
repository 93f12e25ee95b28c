//# role: companion
//# lang: c
//# mpi: both
//# needs-mpi: no
/* The library of constructed_tool.c. */
#include <unistd.h>

static int constructed;

__attribute__((constructor)) static void begin(void)
{
    constructed++;
}

__attribute__((destructor)) static void end(void)
{
    constructed = 7;
}

int constructed_part(void)
{
    return constructed;
}

//# role: companion
//# lang: c
//# needs-mpi: no
/* shows_less_part: a library whose constructor opens a file. */
#include <fcntl.h>
#include <unistd.h>

__attribute__((constructor)) static void start(void)
{
    close(open("marker of a library", O_RDONLY));
}

int shows_less_part(void)
{
    return 1;
}

//# lang: c
//# mpi: both
//# cflags: -Wl,-z,separate-code
//# program: ring.c
//# expect-stdout: tool own_file: ok calls=2
/* own_file: looks its own code up in /proc/self/maps, and reads the file that stands there.
 *
 * Hazard: profilers do so for functions and lines of every address on the stack, those in tools included, and some do not
 * survive a file that cannot be opened, as one in memory.
 *
 * Build: mpicc -shared -fPIC -O2 -Wl,-z,separate-code own_file.c -o own_file.so */
#include "verdict.h"
#include <mpi.h>
#include <stdint.h>
#include <string.h>

/* Code that there is no reason to change: it calls nothing, and is not in the page of the file's headers. */
__attribute__((noinline)) static int sum_of_squares(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += i * i;
    __asm__ volatile("" : "+r"(sum));
    return sum;
}

static void look_up(uintptr_t address)
{
    unsigned char here[16], there[16];
    char line[4400], path[4200] = "";
    unsigned long start, end, offset = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx r-xp %lx %*s %*s %4199[^\n]", &start, &end, &offset, path) == 4 && address >= start
            && address < end)
            break;
        else
            path[0] = 0;
    if (maps)
        fclose(maps);
    FILE *file = path[0] == '/' ? fopen(path, "rb") : NULL;
    memcpy(here, (const void *)address, sizeof here);
    if (!file)
        fail("the file of its code, '%.80s', cannot be opened", path);
    else if (fseek(file, (long)(address - start + offset), SEEK_SET) || fread(there, sizeof there, 1, file) != 1
             || memcmp(here, there, sizeof here) != 0)
        fail("its code does not stand in '%.80s'", path);
    if (file)
        fclose(file);
}

int MPI_Init(int *argc, char ***argv)
{
    int rc = PMPI_Init(argc, argv);
    count_call();
    if (sum_of_squares(4) == 14)
        look_up((uintptr_t)&sum_of_squares);
    else
        fail("it cannot count");
    return rc;
}

int MPI_Finalize(void)
{
    int rank = -1;
    count_call();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict("own_file", rank, "");
    return PMPI_Finalize();
}

/* setup: what the process has cost when main begins. Layers are loaded before.
 *
 * Prints `cpu-ms private-dirty-kB shared-dirty-kB pss-kB`. Dirty pages are those that this process does not share with
 * the file they come from; "shared" are those of them that it maps more than once. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <time.h>

int main(int argc, char **argv)
{
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    if (argc > 1) /* never: there is just no program without an MPI library */
        MPI_Init(&argc, &argv);

    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    if (!file) {
        perror("/proc/self/smaps_rollup");
        return 1;
    }
    long private_dirty = 0, shared_dirty = 0, pss = 0;
    char line[256];
    while (fgets(line, sizeof line, file)) {
        sscanf(line, "Private_Dirty: %ld", &private_dirty);
        sscanf(line, "Shared_Dirty: %ld", &shared_dirty);
        sscanf(line, "Pss: %ld", &pss);
    }
    fclose(file);
    printf("%.3f %ld %ld %ld\n", cpu.tv_sec * 1e3 + cpu.tv_nsec / 1e6, private_dirty, shared_dirty, pss);
    return 0;
}

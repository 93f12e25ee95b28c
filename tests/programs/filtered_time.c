//# lang: c
//# mpi: both
//# ranks: 1
//# args: 0.01 0.02
//# expect-stdout: filtered_time: done
/* filtered_time FROM TO: says how many of its barriers were between FROM and TO seconds after the start of the process for sure, and how many
 * may have been. A clock begins at some time between the start of the process and main, and is read to the hundredth of a second. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* When the process started, by CLOCK_BOOTTIME: field 22 of its status. */
static double start_of_process(void)
{
    char text[4096], *field;
    FILE *file = fopen("/proc/self/stat", "r");
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = 0;
    field = strrchr(text, ')');
    for (int i = 2; i < 22; i++)
        field = strchr(field + 1, ' ');
    return strtod(field, NULL) / (double)sysconf(_SC_CLK_TCK);
}

int main(int argc, char **argv)
{
    const double slack = 0.05, in_main = now(CLOCK_BOOTTIME), process = start_of_process();
    const double from = strtod(argv[1], NULL), to = strtod(argv[2], NULL);
    int surely = 0, perhaps = 0, all = 0;
    MPI_Init(&argc, &argv);
    for (double end = in_main + to + 0.3; now(CLOCK_BOOTTIME) < end; all++) {
        double before = now(CLOCK_BOOTTIME);
        MPI_Barrier(MPI_COMM_SELF);
        double after = now(CLOCK_BOOTTIME);
        surely += before > in_main + from + slack && after < process + to - slack;
        perhaps += after > process + from - slack && before < in_main + to + slack;
        usleep(1000);
    }
    fprintf(stderr, "window: all=%d surely=%d perhaps=%d\n", all, surely, perhaps);
    fputs("filtered_time: done\n", stdout);
    return MPI_Finalize();
}

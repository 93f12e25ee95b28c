//# lang: c
//# links: wrapped_part.c
//# cflags: -Wl,-rpath,$ORIGIN
/* uses_part: calls a function of its own library, and fscanf. */
#include <mpi.h>
#include <stdio.h>

int wrapped_part(int value);

int main(int argc, char **argv)
{
    int number = 0;
    FILE *file = tmpfile();
    MPI_Init(&argc, &argv);
    if (file) {
        fputs("part 42", file);
        rewind(file);
        if (fscanf(file, "part %d", &number) != 1)
            fputs("nothing read\n", stdout);
        fclose(file);
    }
    printf("part %d, number %d\n", wrapped_part(1), number);
    MPI_Finalize();
    return 0;
}

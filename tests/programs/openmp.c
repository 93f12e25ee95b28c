//# lang: c
//# cflags: -fopenmp -Wl,--as-needed
//# libs: -l:libomp.so.5
/* openmp: three parallel regions, by a run-time library that has the tools interface of OpenMP 5 (OMPT), which GCC's has not. */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int sum = 0;
    MPI_Init(&argc, &argv);
    for (int region = 0; region < 3; region++) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
        sum += omp_get_thread_num() + 1;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    printf("openmp: %d\n", sum);
    MPI_Finalize();
    return 0;
}

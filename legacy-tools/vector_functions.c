//# lang: c
//# mpi: both
//# cflags: -Wl,-z,lazy
//# libs: -lmvec -lm
//# program: ring.c
//# expect-stdout: tool vector_functions: ok calls=2
/* vector_functions: calls a vector function of the mathematical library, and has values in vector registers meanwhile.
 *
 * Hazard: on AArch64 such a function has a calling convention of its own (STO_AARCH64_VARIANT_PCS): it leaves q8 to q23 whole, of which
 * others keep the lower halves. ld.so does not bind it at the first call, as it would need these registers; nor may anything else stand
 * between the call and the function.
 *
 * Build: mpicc -shared -fPIC -O2 -Wl,-z,lazy vector_functions.c -lmvec -lm -o vector_functions.so */
#include "verdict.h"
#include <math.h>
#include <mpi.h>

#ifdef __aarch64__
typedef __Float64x2_t pair;
__attribute__((aarch64_vector_pcs)) pair _ZGVnN2v_sin(pair);
#define vector_sin _ZGVnN2v_sin
#define REGISTER "+w"
#else
typedef double pair __attribute__((vector_size(16)));
pair _ZGVbN2v_sin(pair);
#define vector_sin _ZGVbN2v_sin
#define REGISTER "+x"
#endif

/* Without an address in between, the compiler keeps the vectors in registers that the function leaves as they are, if there are any. */
static void sines(void)
{
    pair a = {0.5, -0.5}, b = {1, -1}, c = {1.5, -1.5}, d = {2, -2};
    __asm__ volatile("" : REGISTER(a), REGISTER(b), REGISTER(c), REGISTER(d));
    for (int round = 0; round < 100; round++) {
        pair sine = vector_sin(a);
        if (fabs(sine[0] - sin(0.5)) > 1e-14 || fabs(sine[1] + sin(0.5)) > 1e-14)
            fail("sin: %g %g", sine[0], sine[1]);
        __asm__ volatile("" : REGISTER(a), REGISTER(b), REGISTER(c), REGISTER(d));
    }
    pair sum = a + b + c + d;
    if (sum[0] != 5 || sum[1] != -5)
        fail("vectors: %g %g", sum[0], sum[1]);
}

int MPI_Init(int *argc, char ***argv)
{
    int result = PMPI_Init(argc, argv);
    count_call();
    sines();
    return result;
}

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    count_call();
    sines();
    verdict("vector_functions", rank, "");
    return PMPI_Finalize();
}

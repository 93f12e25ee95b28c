//# lang: c
//# mpi: both
//# program: ring.c
//# expect-stdout: tool code_bytes: ok calls=8
/* code_bytes: an instruction whose operand has the bytes of a call.
 *
 * Hazard: calls of a tool's wrappers may be led directly to the next link, and whoever looks for calls byte by byte would
 * change this instruction too. The operand must be what the linker put there; the call after it must work.
 *
 * With CODE_BYTES=1 it also says whether the call goes through the linkage table of this library.
 *
 * Build: mpicc -shared -fPIC -O2 code_bytes.c -o code_bytes.so */
#include "verdict.h"
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Is this address in the linkage table of this library, or elsewhere in it? */
extern const unsigned char __ehdr_start[] __attribute__((visibility("hidden")));
extern const unsigned char _end[] __attribute__((visibility("hidden")));
extern const unsigned char code_bytes_call[] __attribute__((visibility("hidden")));

static int is_own(const unsigned char *address)
{
    return address >= __ehdr_start && address < _end;
}

#if defined(__x86_64__)
/* double MPI_Wtick(void): its operand, if it were a call, would lead where the call leads. */
__asm__(".text\n"
        ".globl MPI_Wtick\n"
        ".type MPI_Wtick, @function\n"
        "MPI_Wtick:\n"
        "    sub $8, %rsp\n"
        "    .byte 0x48, 0xb8, 0xe8\n" /* movabs $0x000000DDDDDDDDe8, %rax */
        "code_bytes_operand:\n"
        "    .reloc ., R_X86_64_PLT32, PMPI_Wtick - 4\n"
        "    .long 0\n"
        "    .byte 0, 0, 0\n"
        "code_bytes_call:\n"
        "    call PMPI_Wtick@PLT\n"
        "    add $8, %rsp\n"
        "    ret\n"
        ".size MPI_Wtick, . - MPI_Wtick\n");

extern const unsigned char code_bytes_operand[] __attribute__((visibility("hidden")));

/* Where a call with this displacement leads. */
static const unsigned char *target(const unsigned char *displacement)
{
    int32_t relative;
    memcpy(&relative, displacement, sizeof relative);
    return displacement + sizeof relative + relative;
}

static int operand_is_changed(void)
{
    const unsigned char *table;
    __asm__("lea PMPI_Wtick@PLT(%%rip), %0" : "=r"(table));
    return target(code_bytes_operand) != table;
}

static int goes_by_table(void)
{
    return is_own(target(code_bytes_call + 1));
}
#elif defined(__aarch64__)
/* double MPI_Wtick(void): operands are parts of instructions here, and never look like one. */
__asm__(".text\n"
        ".globl MPI_Wtick\n"
        ".type MPI_Wtick, %function\n"
        "MPI_Wtick:\n"
        "    hint 34\n" /* bti c: a place that indirect branches lead to */
        "    stp x29, x30, [sp, -16]!\n"
        "code_bytes_call:\n"
        "    bl PMPI_Wtick\n"
        "    ldp x29, x30, [sp], 16\n"
        "    ret\n"
        ".size MPI_Wtick, . - MPI_Wtick\n");

static int operand_is_changed(void)
{
    return 0;
}

static int goes_by_table(void)
{
    uint32_t call;
    memcpy(&call, code_bytes_call, sizeof call);
    return is_own(code_bytes_call + ((int32_t)(call << 6) >> 6) * 4L);
}
#endif

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    count_call();
    return PMPI_Send(b, n, t, to, tag, c);
}

int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
    count_call();
    return PMPI_Recv(b, n, t, from, tag, c, s);
}

int MPI_Barrier(MPI_Comm c)
{
    count_call();
    return PMPI_Barrier(c);
}

int MPI_Finalize(void)
{
    int rank = -1;
    count_call();
    if (operand_is_changed())
        fail("the operand of an instruction has changed");
    if (MPI_Wtick() <= 0 || MPI_Wtick() != PMPI_Wtick())
        fail("MPI_Wtick is %g", MPI_Wtick());
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *path = goes_by_table() ? "by the table" : "directly";
    verdict("code_bytes", rank, getenv("CODE_BYTES") ? path : "");
    return PMPI_Finalize();
}

//# lang: fortran
//# mpi: both
//# cflags: -w
//# ranks: 1
//# expect-stdout: guard_page: pcontrol: 0
//# expect-stdout: guard_page: pcontrol_words: 0
//# expect-stdout: guard_page: sendrecv: 0
//# expect-stdout: guard_page: fortran_sendrecv: 0
//# expect-stdout: guard_page: done
/* Calls MPI from stacks that end at a guard page, as those of coroutines do: the return address and the words that the caller
 * passes in memory are the last ones of the stack, above them nothing can be read. Prints what each call returned, or where it
 * read: `guard_page: pcontrol: SIGSEGV 0 bytes above the stack`.
 *
 * Each function is called through the program's PLT; with the argument `pointer` through its address. With `room` the page can be
 * read: what is printed then is right. */
#define _GNU_SOURCE
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef long word;
typedef MPI_Fint F;

/* Calls `function` with `count` words, of which the first are passed in registers (`words` has as many at least, whatever `count` says), on
 * the stack below `top`; `number` is passed in the first vector register, `vectors` says that it is. The stack pointer is a multiple of 16
 * at the call (psABI 3.2.2, AAPCS64 6.4.5). */
word call_below(void (*function)(void), const word *words, word count, void *top, word vectors, double number);
#if defined(__x86_64__)
#define JUMP_BY_PLT(f) "    jmp " #f "@PLT\n"
__asm__(".text\n"
        "call_below:\n"
        ".cfi_startproc\n"
        "    pushq %rbx\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset rbx, -16\n"
        "    movq %rsp, %rbx\n"
        "    .cfi_def_cfa_register rbx\n"
        "    movq %rdi, %r11\n"
        "    movq %rsi, %r10\n"
        "    subq $6, %rdx\n"
        "    jns 1f\n"
        "    xorl %edx, %edx\n"
        "1:  leaq (,%rdx,8), %rax\n"
        "    subq %rax, %rcx\n"
        "    andq $-16, %rcx\n"
        "    movq %rcx, %rsp\n"
        "2:  subq $1, %rdx\n"
        "    js 3f\n"
        "    movq 48(%r10,%rdx,8), %rax\n"
        "    movq %rax, (%rsp,%rdx,8)\n"
        "    jmp 2b\n"
        "3:  movq %r8, %rax\n"
        "    movq (%r10), %rdi\n"
        "    movq 8(%r10), %rsi\n"
        "    movq 16(%r10), %rdx\n"
        "    movq 24(%r10), %rcx\n"
        "    movq 32(%r10), %r8\n"
        "    movq 40(%r10), %r9\n"
        "    call *%r11\n"
        "    movq %rbx, %rsp\n"
        "    .cfi_def_cfa_register rsp\n"
        "    popq %rbx\n"
        "    .cfi_def_cfa_offset 8\n"
        "    ret\n"
        ".cfi_endproc\n");
#elif defined(__aarch64__)
/* Debian's compilers mark what they make as protected: what is called by address begins with a landing pad, `bti c`. */
#define JUMP_BY_PLT(f) "    hint 34\n    b " #f "\n"
__asm__(".text\n"
        "call_below:\n"
        ".cfi_startproc\n"
        "    stp x29, x30, [sp, -16]!\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset x29, -16\n"
        "    .cfi_offset x30, -8\n"
        "    mov x29, sp\n"
        "    .cfi_def_cfa_register x29\n"
        "    mov x16, x0\n"
        "    mov x9, x1\n"
        "    subs x10, x2, 8\n"
        "    csel x10, x10, xzr, pl\n"
        "    sub x11, x3, x10, lsl 3\n"
        "    and sp, x11, -16\n"
        "    mov x11, sp\n"
        "    add x12, x9, 64\n"
        "1:  cbz x10, 2f\n"
        "    sub x10, x10, 1\n"
        "    ldr x13, [x12, x10, lsl 3]\n"
        "    str x13, [x11, x10, lsl 3]\n"
        "    b 1b\n"
        "2:  ldp x0, x1, [x9]\n"
        "    ldp x2, x3, [x9, 16]\n"
        "    ldp x4, x5, [x9, 32]\n"
        "    ldp x6, x7, [x9, 48]\n"
        "    blr x16\n"
        "    mov sp, x29\n"
        "    .cfi_def_cfa_register sp\n"
        "    ldp x29, x30, [sp], 16\n"
        "    .cfi_def_cfa_offset 0\n"
        "    ret\n"
        ".cfi_endproc\n");
#endif

/* A jump to the program's PLT entry. Hidden: the assembler knows no GOT entry for a local symbol on AArch64. */
#define THROUGH_PLT(f)                                           \
    __attribute__((visibility("hidden"))) void plt_##f(void);    \
    __asm__("plt_" #f ":\n" JUMP_BY_PLT(f));
#define FUNCTIONS(X)                                                                                        \
    X(MPI_Pcontrol) X(MPI_Barrier) X(MPI_Allreduce) X(MPI_Sendrecv) X(MPI_Dist_graph_create_adjacent)       \
    X(MPI_Ialltoallw) X(MPI_Alltoallw) X(mpi_barrier_) X(mpi_allreduce_) X(mpi_sendrecv_)
FUNCTIONS(THROUGH_PLT)
void mpi_barrier_(F *comm, F *error);
void mpi_allreduce_(void *b, void *rb, F *n, F *t, F *op, F *comm, F *error);
void mpi_sendrecv_(void *b, F *n, F *t, F *to, F *tag, void *rb, F *rn, F *rt, F *from, F *rtag, F *comm, F *status, F *error);

enum { STACK = 1 << 20, PAGE = 1 << 16 /* of any system */ };
static char *top;
static sigjmp_buf back;
static long distance;
static int by_pointer, room;

static void crashed(int signal, siginfo_t *info, void *context)
{
    distance = (char *)info->si_addr - top;
    siglongjmp(back, 1);
}

static void call(const char *name, void (*plt)(void), void (*pointer)(void), const word *words, int count, int vectors,
                 const F *result)
{
    /* A fresh stack, deep enough for MPI, with a page above it that cannot be read. */
    char *stack = mmap(NULL, STACK + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    top = stack + STACK;
    if (!room)
        mprotect(top, PAGE, PROT_NONE);
    if (sigsetjmp(back, 1) == 0) {
        word returned = call_below(by_pointer ? pointer : plt, words, count, top, vectors, 2.5);
        printf("guard_page: %s: %d\n", name, result ? (int)*result : (int)returned);
    } else if (distance >= 0 && distance < PAGE)
        printf("guard_page: %s: SIGSEGV %ld bytes above the stack\n", name, distance);
    else
        printf("guard_page: %s: SIGSEGV elsewhere\n", name);
    fflush(stdout);
    munmap(stack, STACK + PAGE);
}

/* In C the result is what is returned, in Fortran the last argument. */
#define CALL(name, f, vectors, ...)                                                                           \
    {                                                                                                         \
        const word words[20] = { __VA_ARGS__ };                                                               \
        call(name, plt_##f, (void (*)(void))f, words, sizeof((word[]){ __VA_ARGS__ }) / sizeof(word), vectors, NULL); \
    }
#define CALL_FORTRAN(name, f, ...)                                                                            \
    {                                                                                                         \
        static F error;                                                                                       \
        const word words[20] = { __VA_ARGS__, (word)&error };                                                 \
        error = 77;                                                                                           \
        call(name, plt_##f, (void (*)(void))f, words, sizeof((word[]){ __VA_ARGS__, 0 }) / sizeof(word), 0, &error); \
    }

int main(int argc, char **argv)
{
    static char alternate[1 << 16];
    MPI_Init(&argc, &argv);
    by_pointer = argc > 1 && strcmp(argv[1], "pointer") == 0;
    room = argc > 1 && strcmp(argv[1], "room") == 0;
    stack_t other = { .ss_sp = alternate, .ss_size = sizeof alternate };
    struct sigaction action = { .sa_sigaction = crashed, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    sigaltstack(&other, NULL);
    sigaction(SIGSEGV, &action, NULL); /* after MPI's own */
    sigaction(SIGBUS, &action, NULL);

    int in[4] = { 1, 2, 3, 4 }, out[4], zero = 0, one = 1;
    MPI_Comm graph = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype type = MPI_INT;
    const word self = (word)MPI_COMM_SELF, number = (word)MPI_INT, sum = (word)MPI_SUM, ignore = (word)MPI_STATUS_IGNORE;

    CALL("pcontrol", MPI_Pcontrol, 0, 1)
    CALL("pcontrol_words", MPI_Pcontrol, 1, 2, (word)"text", 17)
    CALL("pcontrol_stack", MPI_Pcontrol, 0, 3, 1, 2, 3, 4, 5, 6, 7)
    CALL("barrier", MPI_Barrier, 0, self)
    CALL("allreduce", MPI_Allreduce, 0, (word)in, (word)out, 4, number, sum, self)
    CALL("sendrecv", MPI_Sendrecv, 0, (word)in, 1, number, 0, 5, (word)out, 1, number, 0, 5, self, ignore)
    CALL("alltoallw", MPI_Alltoallw, 0, (word)in, (word)&one, (word)&zero, (word)&type, (word)out, (word)&one, (word)&zero,
         (word)&type, self)
    CALL("dist_graph", MPI_Dist_graph_create_adjacent, 0, self, 1, (word)&zero, (word)MPI_UNWEIGHTED, 1, (word)&zero,
         (word)MPI_UNWEIGHTED, (word)MPI_INFO_NULL, 0, (word)&graph)
    if (graph != MPI_COMM_NULL)
        MPI_Comm_free(&graph);
    CALL("ialltoallw", MPI_Ialltoallw, 0, (word)in, (word)&one, (word)&zero, (word)&type, (word)out, (word)&one, (word)&zero,
         (word)&type, self, (word)&request)
    if (request != MPI_REQUEST_NULL)
        MPI_Wait(&request, MPI_STATUS_IGNORE);

    static F comm, f_number, f_sum, n = 1, rank, tag = 5, status[20];
    comm = MPI_Comm_c2f(MPI_COMM_SELF), f_number = MPI_Type_c2f(MPI_INT), f_sum = MPI_Op_c2f(MPI_SUM);
    CALL_FORTRAN("fortran_barrier", mpi_barrier_, (word)&comm)
    CALL_FORTRAN("fortran_allreduce", mpi_allreduce_, (word)in, (word)out, (word)&n, (word)&f_number, (word)&f_sum, (word)&comm)
    CALL_FORTRAN("fortran_sendrecv", mpi_sendrecv_, (word)in, (word)&n, (word)&f_number, (word)&rank, (word)&tag, (word)out,
                 (word)&n, (word)&f_number, (word)&rank, (word)&tag, (word)&comm, (word)status)
    fputs("guard_page: done\n", stdout);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

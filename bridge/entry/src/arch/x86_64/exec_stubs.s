// `exec_func(f, level, index, vector, args...)` of the 2018 prototype: calls `f(args..., next_level, vector)`.
//
// Arguments of MPI functions are words; a variadic call passes them as any other (psABI 3.5.7). With n of them:
//
// | | `rdi` | `rsi` | `rdx` | `rcx` | `r8` | `r9` | `[rsp+8]` | `[rsp+16]` | `[rsp+24]` | `[rsp+32]` | `[rsp+40]` |
// |---|---|---|---|---|---|---|---|---|---|---|---|
// | before | f | level | index | vector | a1 | a2 | a3 | a4 | a5 | a6 | a7 |
// | after, n = 3 | a1 | a2 | a3 | level | vector | | | | | | |
// | after, n = 7 | a1 | a2 | a3 | a4 | a5 | a6 | a7 | level | vector | | |
//
// Everything moves down: n - 2 words of the stack become n - 4, inside the incoming argument area, which belongs to the
// callee. So each is a tail jump. No frame, no trace in a back trace, and whatever `f` returns comes back, a double as well.
//
// | register | from the check to the end of a stub |
// |---|---|
// | `eax` | the next level; 0 at the jump (`f` may be variadic, and no vector register has an argument) |
// | `r10` | the vector |
// | `r11` | f; with more than six arguments f is in the red zone, and `r11` carries words |

.macro qmpi_exec n
    .balign 16
    .type qmpi_exec_\n, @function
qmpi_exec_\n:
    .cfi_startproc
    .if \n > 6
    mov qword ptr [rsp - 8], rdi
    .else
    mov r11, rdi
    .endif
    mov r10, rcx
    .if \n > 0
    mov rdi, r8
    .endif
    .if \n > 1
    mov rsi, r9
    .endif
    .if \n > 2
    mov rdx, qword ptr [rsp + 8]
    .endif
    .if \n > 3
    mov rcx, qword ptr [rsp + 16]
    .endif
    .if \n > 4
    mov r8, qword ptr [rsp + 24]
    .endif
    .if \n > 5
    mov r9, qword ptr [rsp + 32]
    .endif
    .if \n > 6
    .set .Lqmpi_k, 7
    .rept \n - 6
    mov r11, qword ptr [rsp + 8 * (.Lqmpi_k - 2)]
    mov qword ptr [rsp + 8 * (.Lqmpi_k - 6)], r11
    .set .Lqmpi_k, .Lqmpi_k + 1
    .endr
    .endif
    // Level and vector behind them.
    .if \n == 0
    mov edi, eax
    mov rsi, r10
    .endif
    .if \n == 1
    mov esi, eax
    mov rdx, r10
    .endif
    .if \n == 2
    mov edx, eax
    mov rcx, r10
    .endif
    .if \n == 3
    mov ecx, eax
    mov r8, r10
    .endif
    .if \n == 4
    mov r8d, eax
    mov r9, r10
    .endif
    .if \n == 5
    mov r9d, eax
    mov qword ptr [rsp + 8], r10
    .endif
    .if \n > 5
    mov qword ptr [rsp + 8 * (\n - 5)], rax
    mov qword ptr [rsp + 8 * (\n - 4)], r10
    .endif
    xor eax, eax
    .if \n > 6
    jmp qword ptr [rsp - 8]
    .else
    jmp r11
    .endif
    .cfi_endproc
    .size qmpi_exec_\n, . - qmpi_exec_\n
.endm
.pushsection .text.qmpi_exec, "ax", @progbits
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
    qmpi_exec \n
    .endr
.popsection
.pushsection .data.rel.ro.qmpi_exec, "aw", @progbits
    .balign 8
    .hidden qmpi_exec_table
    .globl qmpi_exec_table
qmpi_exec_table:
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
    .quad qmpi_exec_\n
    .endr
.popsection

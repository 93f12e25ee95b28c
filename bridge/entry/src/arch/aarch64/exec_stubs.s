// `exec_func(f, level, index, vector, args...)` of the 2018 prototype: calls `f(args..., next_level, vector)`.
//
// Arguments of MPI functions are words; a variadic call passes them as any other (AAPCS64 6.8.2). With n of them:
//
// | | `x0` | `x1` | `x2` | `x3` | `x4` | `x5` | `x6` | `x7` | `[sp]` | `[sp+8]` | `[sp+16]` |
// |---|---|---|---|---|---|---|---|---|---|---|---|
// | before | f | level | index | vector | a1 | a2 | a3 | a4 | a5 | a6 | a7 |
// | after, n = 3 | a1 | a2 | a3 | level | vector | | | | | | |
// | after, n = 7 | a1 | a2 | a3 | a4 | a5 | a6 | a7 | level | vector | | |
//
// Everything moves down: n - 4 words of the stack become n - 6, inside the incoming argument area, which belongs to the
// callee. So each is a tail jump. No frame, no trace in a back trace, and whatever `f` returns comes back, a double as well.
//
// | register | from the check to the end of a stub |
// |---|---|
// | `w9` | the next level |
// | `x10` | the vector |
// | `x11` | carries words |
// | `x16` | f |

.macro qmpi_exec n
    .balign 16
    .type qmpi_exec_\n, @function
qmpi_exec_\n:
    .cfi_startproc
    mov x16, x0
    mov x10, x3
    .if \n > 0
    mov x0, x4
    .endif
    .if \n > 1
    mov x1, x5
    .endif
    .if \n > 2
    mov x2, x6
    .endif
    .if \n > 3
    mov x3, x7
    .endif
    .if \n > 4
    ldr x4, [sp, 0]
    .endif
    .if \n > 5
    ldr x5, [sp, 8]
    .endif
    .if \n > 6
    ldr x6, [sp, 16]
    .endif
    .if \n > 7
    ldr x7, [sp, 24]
    .endif
    .if \n > 8
    .set .Lqmpi_k, 0
    .rept \n - 8
    ldr x11, [sp, 8 * (.Lqmpi_k + 4)]
    str x11, [sp, 8 * .Lqmpi_k]
    .set .Lqmpi_k, .Lqmpi_k + 1
    .endr
    .endif
    // Level and vector behind them.
    .if \n == 0
    mov w0, w9
    mov x1, x10
    .endif
    .if \n == 1
    mov w1, w9
    mov x2, x10
    .endif
    .if \n == 2
    mov w2, w9
    mov x3, x10
    .endif
    .if \n == 3
    mov w3, w9
    mov x4, x10
    .endif
    .if \n == 4
    mov w4, w9
    mov x5, x10
    .endif
    .if \n == 5
    mov w5, w9
    mov x6, x10
    .endif
    .if \n == 6
    mov w6, w9
    mov x7, x10
    .endif
    .if \n == 7
    mov w7, w9
    str x10, [sp]
    .endif
    .if \n > 7
    str x9, [sp, 8 * (\n - 8)]
    str x10, [sp, 8 * (\n - 7)]
    .endif
    br x16
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

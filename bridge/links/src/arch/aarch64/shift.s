// Stubs between the calling conventions of tools, one for each number of MPI arguments. AAPCS64 6.8.2: eight words in registers, the rest on
// the stack. With n MPI arguments a1..an:
//
//     convention      x0       x1       x2  x3  x4     x5      x6  x7  [sp]  [sp+8]  [sp+16]
//     PMPI            a1       a2       a3  a4  a5     a6      a7  a8  a9    a10     a11
//     QMPI            context  tool_id  a1  a2  a3     a4      a5  a6  a7    a8      a9
//     thesis, n = 4   a1       a2       a3  a4  level  vector

// --- QMPI → PMPI; x17 is the target.
.macro qmpi_down_body n
    .if \n > 0
        mov x0, x2
    .endif
    .if \n > 1
        mov x1, x3
    .endif
    .if \n > 2
        mov x2, x4
    .endif
    .if \n > 3
        mov x3, x5
    .endif
    .if \n > 4
        mov x4, x6
    .endif
    .if \n > 5
        mov x5, x7
    .endif
    .if \n > 6
        ldr x6, [sp]
    .endif
    .if \n > 7
        ldr x7, [sp, 8]
    .endif
    .if \n > 8
        .set .Lqmpi_k, 0
        .rept \n - 8
            ldr x9, [sp, 8 * (.Lqmpi_k + 2)]
            str x9, [sp, 8 * .Lqmpi_k]
            .set .Lqmpi_k, .Lqmpi_k + 1
        .endr
    .endif
.endm

.macro qmpi_down n
    .balign 16
qmpi_down_\n:
    .cfi_startproc
    .ifc \n, v
        qmpi_down_variadic_body
    .else
        qmpi_down_body \n
        br x17
    .endif
    .cfi_endproc
.endm

.macro qmpi_down_record n
    .balign 16
qmpi_down_record_\n:
    .cfi_startproc
    qmpi_tell {record}
    .ifc \n, v
        qmpi_down_variadic_body
    .else
        qmpi_down_body \n
        br x17
    .endif
    .cfi_endproc
.endm

.macro qmpi_down_context n
    .balign 16
qmpi_down_context_\n:
    .cfi_startproc
    qmpi_tell {record_first}
    .ifc \n, v
        qmpi_down_variadic_body
    .else
        qmpi_down_body \n
        br x17
    .endif
    .cfi_endproc
.endm

.macro qmpi_down_null n
    .balign 16
qmpi_down_null_\n:
    .cfi_startproc
    cbnz x0, qmpi_down_context_\n
    .ifc \n, v
        qmpi_down_variadic_body
    .else
        qmpi_down_body \n
        br x17
    .endif
    .cfi_endproc
.endm

// The variadic one: a copy of the words that may be arguments, of which two go into registers.
.macro qmpi_frame size
    stp x29, x30, [sp, -16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    sub sp, sp, \size
.endm

.macro qmpi_unframe
    mov sp, x29
    ldp x29, x30, [sp], 16
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
.endm

.macro qmpi_down_variadic_body
    qmpi_frame 112
    qmpi_copy_words 14, 16
    mov x0, x2
    mov x1, x3
    mov x2, x4
    mov x3, x5
    mov x4, x6
    mov x5, x7
    ldp x6, x7, [sp], 16
    blr x17
    qmpi_unframe
.endm

// --- PMPI → QMPI; x17 is the payload. `context`: 0 is the return address, 1 the one that is kept, 2 none. It is in x9 at first.
.macro qmpi_up_context context
    .if \context == 2
        mov x9, xzr
    .elseif \context == 1
        qmpi_recall
    .else
        mov x9, x30
    .endif
.endm

.macro qmpi_up_shift n
    .if \n > 5
        mov x7, x5
    .endif
    .if \n > 4
        mov x6, x4
    .endif
    .if \n > 3
        mov x5, x3
    .endif
    .if \n > 2
        mov x4, x2
    .endif
    .if \n > 1
        mov x3, x1
    .endif
    .if \n > 0
        mov x2, x0
    .endif
.endm

// The frame from n = 7 on, with the words that go on the stack: n - 6, to an even number. x9 stays, x10 is used.
.macro qmpi_up_enter n
    qmpi_frame 8 * (\n - 6 + (\n % 2))
    str x6, [sp]
    .if \n > 7
        str x7, [sp, 8]
    .endif
    .if \n > 8
        .set .Lqmpi_k, 0
        .rept \n - 8
            ldr x10, [x29, 16 + 8 * .Lqmpi_k]
            str x10, [sp, 8 * (.Lqmpi_k + 2)]
            .set .Lqmpi_k, .Lqmpi_k + 1
        .endr
    .endif
.endm

.macro qmpi_up_body n, context
    .cfi_startproc
    qmpi_up_context \context
    .ifc \n, v
        stp x29, x30, [sp, -32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        mov x29, sp
        .cfi_def_cfa_register x29
        str x9, [x29, 16]
        sub sp, sp, 96
        qmpi_copy_words 12, 32
        stp x6, x7, [sp, -16]!
        ldr x9, [x29, 16]
        qmpi_up_shift 6
        mov x0, x9
        ldr w1, [x17, {number}]
        ldr x16, [x17, {target}]
        blr x16
        mov sp, x29
        ldp x29, x30, [sp], 32
        .cfi_def_cfa sp, 0
        .cfi_restore x29
        .cfi_restore x30
        ret
    .elseif \n <= 6
        qmpi_up_shift \n
        mov x0, x9
        ldr w1, [x17, {number}]
        ldr x16, [x17, {target}]
        br x16
    .else
        qmpi_up_enter \n
        qmpi_up_shift 6
        mov x0, x9
        ldr w1, [x17, {number}]
        ldr x16, [x17, {target}]
        blr x16
        qmpi_unframe
    .endif
    .cfi_endproc
.endm

.macro qmpi_up n
    .balign 16
qmpi_up_\n:
    qmpi_up_body \n, 0
.endm

.macro qmpi_up_recall n
    .balign 16
qmpi_up_recall_\n:
    qmpi_up_body \n, 1
.endm

.macro qmpi_up_null n
    .balign 16
qmpi_up_null_\n:
    qmpi_up_body \n, 2
.endm

// --- PMPI → thesis; x17 is the payload.
.macro qmpi_append n
    .balign 16
qmpi_append_\n:
    .cfi_startproc
    .if \n == 0
        ldr w0, [x17, {number}]
        ldr x1, [x17, {word}]
    .endif
    .if \n == 1
        ldr w1, [x17, {number}]
        ldr x2, [x17, {word}]
    .endif
    .if \n == 2
        ldr w2, [x17, {number}]
        ldr x3, [x17, {word}]
    .endif
    .if \n == 3
        ldr w3, [x17, {number}]
        ldr x4, [x17, {word}]
    .endif
    .if \n == 4
        ldr w4, [x17, {number}]
        ldr x5, [x17, {word}]
    .endif
    .if \n == 5
        ldr w5, [x17, {number}]
        ldr x6, [x17, {word}]
    .endif
    .if \n == 6
        ldr w6, [x17, {number}]
        ldr x7, [x17, {word}]
    .endif
    .if \n <= 6
        ldr x16, [x17, {target}]
        br x16
    .else
        // n + 2 - 8 words, to an even number.
        qmpi_frame 8 * (\n - 6 + (\n % 2))
        .if \n > 8
            .set .Lqmpi_k, 0
            .rept \n - 8
                ldr x10, [x29, 16 + 8 * .Lqmpi_k]
                str x10, [sp, 8 * .Lqmpi_k]
                .set .Lqmpi_k, .Lqmpi_k + 1
            .endr
        .endif
        ldr w9, [x17, {number}]
        ldr x10, [x17, {word}]
        .if \n == 7
            mov x7, x9
            str x10, [sp]
        .else
            str x9, [sp, 8 * (\n - 8)]
            str x10, [sp, 8 * (\n - 7)]
        .endif
        ldr x16, [x17, {target}]
        blr x16
        qmpi_unframe
    .endif
    .cfi_endproc
.endm

// --- In one piece with their trampoline: one jump less. All of a kind are equally long. The end is in the table of
// the next one. Those without a frame are a block (`blocks.rs`), mapped again as often as needed.
.macro qmpi_direct_down n, count
    .balign 16
qmpi_direct_down_\n:
    .rept \count
        qmpi_down_body \n
        adrp x16, {direct_rows} + .Lqmpi_row
        ldr x16, [x16, :lo12:{direct_rows} + .Lqmpi_row]
        br x16
        .balign 16
        .set .Lqmpi_row, .Lqmpi_row + 8
    .endr
.endm

.macro qmpi_direct_up n, count
    .balign 16
qmpi_direct_up_\n:
    .rept \count
        qmpi_up_shift \n
        adrp x16, {direct_rows} + .Lqmpi_row
        add x16, x16, :lo12:{direct_rows} + .Lqmpi_row
        ldr w1, [x16, 8]
        ldr x16, [x16]
        mov x0, x30
        br x16
        .balign 16
        .set .Lqmpi_row, .Lqmpi_row + 16
    .endr
.endm

.macro qmpi_direct_up_frame n, count
    .balign 16
qmpi_direct_up_\n:
    .rept \count
        .cfi_remember_state
        qmpi_up_enter \n
        qmpi_up_shift 6
        adrp x16, {frame_rows} + .Lqmpi_row
        add x16, x16, :lo12:{frame_rows} + .Lqmpi_row
        ldr w1, [x16, 8]
        ldr x16, [x16]
        mov x0, x30
        blr x16
        qmpi_unframe
        .cfi_restore_state
        .balign 16
        .set .Lqmpi_row, .Lqmpi_row + 16
    .endr
.endm

.pushsection .text.qmpi_direct, "ax", @progbits
qmpi_function qmpi_direct, {page}
    .set .Lqmpi_row, {down_rows}
    .irp n, 0, 1, 2, 3, 4, 5, 6
        qmpi_direct_down \n, {direct}
    .endr
    .irp n, 7, 8, 9, 10, 11, 12, 13
        qmpi_direct_down \n, {direct_long}
    .endr
qmpi_direct_down_14:
    .set .Lqmpi_row, {up_rows}
    .irp n, 0, 1, 2, 3, 4, 5, 6
        qmpi_direct_up \n, {direct}
    .endr
qmpi_direct_up_end:
    .balign {page}
qmpi_label qmpi_direct_end
    .set .Lqmpi_row, 0
    .irp n, 7, 8, 9, 10, 11, 12, 13
        qmpi_direct_up_frame \n, {direct_long}
    .endr
qmpi_direct_up_14:
    .cfi_endproc
.popsection

.pushsection .data.rel.ro.qmpi_direct, "aw", @progbits
    .balign 8
qmpi_label qmpi_direct_down_table
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
        .quad qmpi_direct_down_\n
    .endr
qmpi_label qmpi_direct_up_table
    .irp n, 0, 1, 2, 3, 4, 5, 6, end
        .quad qmpi_direct_up_\n
    .endr
qmpi_label qmpi_direct_up_frame_table
    .irp n, 7, 8, 9, 10, 11, 12, 13, 14
        .quad qmpi_direct_up_\n
    .endr
.popsection

// The same where contexts are null so far (`NULL_STUBS`): a block of its own, which only `libqmpi_bridge.so` uses.
.macro qmpi_direct_down_null n, count
    .balign 16
qmpi_direct_down_null_\n:
    .rept \count
        cbnz x0, 9f
        qmpi_down_body \n
        adrp x16, {null_rows} + .Lqmpi_row
        ldr x16, [x16, :lo12:{null_rows} + .Lqmpi_row]
        br x16
9:
        adrp x17, {null_rows} + .Lqmpi_row
        ldr x17, [x17, :lo12:{null_rows} + .Lqmpi_row]
        adrp x16, {null_rows} + {with_context} + 8 * \n
        ldr x16, [x16, :lo12:{null_rows} + {with_context} + 8 * \n]
        br x16
        .balign 16
        .set .Lqmpi_row, .Lqmpi_row + 8
    .endr
.endm

.macro qmpi_direct_up_null n, count
    .balign 16
qmpi_direct_up_null_\n:
    .rept \count
        qmpi_up_shift \n
        adrp x16, {null_rows} + .Lqmpi_row
        add x16, x16, :lo12:{null_rows} + .Lqmpi_row
        ldr w1, [x16, 8]
        ldr x16, [x16]
        mov x0, xzr
        br x16
        .balign 16
        .set .Lqmpi_row, .Lqmpi_row + 16
    .endr
.endm

.pushsection .text.qmpi_null, "ax", @progbits
qmpi_function qmpi_null, {page}
    .set .Lqmpi_row, {down_rows}
    .irp n, 0, 1, 2, 3, 4, 5, 6
        qmpi_direct_down_null \n, {direct}
    .endr
    .irp n, 7, 8, 9, 10, 11, 12, 13
        qmpi_direct_down_null \n, {direct_long}
    .endr
qmpi_direct_down_null_14:
    .set .Lqmpi_row, {up_rows}
    .irp n, 0, 1, 2, 3, 4, 5, 6
        qmpi_direct_up_null \n, {direct}
    .endr
qmpi_direct_up_null_end:
    .cfi_endproc
    .balign {page}
qmpi_label qmpi_null_end
.popsection

.pushsection .data.rel.ro.qmpi_null, "aw", @progbits
    .balign 8
qmpi_label qmpi_direct_down_null_table
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
        .quad qmpi_direct_down_null_\n
    .endr
qmpi_label qmpi_direct_up_null_table
    .irp n, 0, 1, 2, 3, 4, 5, 6, end
        .quad qmpi_direct_up_null_\n
    .endr
.popsection

// --- All of them.
.macro qmpi_each stub
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20
        \stub \n
    .endr
.endm

.pushsection .text.qmpi_shift, "ax", @progbits
    qmpi_each qmpi_down
    qmpi_each qmpi_down_record
    qmpi_each qmpi_down_context
    qmpi_each qmpi_down_null
    qmpi_each qmpi_up
    qmpi_each qmpi_up_recall
    qmpi_each qmpi_up_null
    qmpi_each qmpi_append
    qmpi_down v
    qmpi_down_record v
    qmpi_down_context v
    qmpi_down_null v
    qmpi_up v
    qmpi_up_recall v
    qmpi_up_null v

// The application → a PMPI tool, with the return address recorded.
qmpi_function qmpi_record
    qmpi_keep_arguments
    str x17, [x29, 88]
    mov x0, x30
    add x1, x29, 224
    mov x2, x30
    bl {record}
    ldr x17, [x29, 88]
    qmpi_restore_arguments
    br x17
qmpi_end qmpi_record

// A function of a QMPI tool with its id, which is the second argument.
qmpi_function qmpi_numbered
    ldr w1, [x17, {number}]
    ldr x16, [x17, {target}]
    br x16
qmpi_end qmpi_numbered
.popsection

.macro qmpi_table name
    qmpi_label \name\()_table
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20
        .quad \name\()_\n
    .endr
.endm

.pushsection .data.rel.ro.qmpi_shift, "aw", @progbits
    .balign 8
    qmpi_table qmpi_down
    .quad qmpi_down_v
    qmpi_table qmpi_down_record
    .quad qmpi_down_record_v
    qmpi_table qmpi_up
    .quad qmpi_up_v
    qmpi_table qmpi_up_recall
    .quad qmpi_up_recall_v
    qmpi_table qmpi_down_context
    qmpi_table qmpi_down_null
    .quad qmpi_down_null_v
    qmpi_table qmpi_up_null
    .quad qmpi_up_null_v
    qmpi_table qmpi_append
.popsection

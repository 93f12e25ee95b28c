// Stubs between the calling conventions of tools, one for each number of MPI arguments. System V psABI 3.2.3: six words in registers, the
// rest on the stack. With n MPI arguments a1..an:
//
//     convention      rdi      rsi      rdx  rcx  r8     r9      [rsp+8]  [rsp+16]  [rsp+24]
//     PMPI            a1       a2       a3   a4   a5     a6      a7       a8        a9
//     QMPI            context  tool_id  a1   a2   a3     a4      a5       a6        a7
//     thesis, n = 4   a1       a2       a3   a4   level  vector

// A word of the stack in two halves, by way of rax, which holds nothing for a function that is not variadic. A QMPI
// wrapper that goes on with a jump writes an `int` as four bytes: a load of all eight would wait until that store has left
// the processor's store buffer, some twenty cycles. What calls PMPI functions pushes whole words.
.macro qmpi_load register, at
    mov \register\()d, dword ptr [rsp + \at]
    mov eax, dword ptr [rsp + \at + 4]
    shl rax, 32
    or \register, rax
.endm

// --- QMPI → PMPI; r11 is the target.
.macro qmpi_down_body n
    .if \n > 0
        mov rdi, rdx
    .endif
    .if \n > 1
        mov rsi, rcx
    .endif
    .if \n > 2
        mov rdx, r8
    .endif
    .if \n > 3
        mov rcx, r9
    .endif
    .if \n > 4
        qmpi_load r8, 8
    .endif
    .if \n > 5
        qmpi_load r9, 16
    .endif
    .if \n > 6
        .set .Lqmpi_k, 7
        .rept \n - 6
            qmpi_load r10, 8 * (.Lqmpi_k - 4)
            mov qword ptr [rsp + 8 * (.Lqmpi_k - 6)], r10
            .set .Lqmpi_k, .Lqmpi_k + 1
        .endr
    .endif
.endm

.macro qmpi_down n
    .balign 16
qmpi_down_\n:
    .cfi_startproc
    qmpi_down_body \n
    jmp r11
    .cfi_endproc
.endm

.macro qmpi_down_record n
    .balign 16
qmpi_down_record_\n:
    .cfi_startproc
    qmpi_record_context
    qmpi_down_body \n
    jmp r11
    .cfi_endproc
.endm

// As long as all contexts are null nothing is recorded: an MPI whose contexts are always null pays for a comparison. The first one
// that is not is told to `lazy_slots.rs`; from then on they are recorded.
.macro qmpi_down_with_context n
    cmp byte ptr [rip + {contexts}], 0
    jne qmpi_down_record_\n
    lea r10, [rip + 8f]
    jmp qmpi_first_context
    // Comes back with the target in another register.
8:
    mov r11, r10
    jmp qmpi_down_record_\n
.endm

.macro qmpi_down_null n
    .balign 16
qmpi_down_null_\n:
    .cfi_startproc
    test rdi, rdi
    jnz 9f
    qmpi_down_body \n
    jmp r11
9:
qmpi_down_context_\n:
    qmpi_down_with_context \n
    .cfi_endproc
.endm

// The variadic one: a copy of the words that may be arguments, of which two go into registers.
.macro qmpi_down_variadic_body
    sub rsp, 120
    .cfi_adjust_cfa_offset 120
    qmpi_copy_words 14, 128
    mov rdi, rdx
    mov rsi, rcx
    mov rdx, r8
    mov rcx, r9
    pop r8
    .cfi_adjust_cfa_offset -8
    pop r9
    .cfi_adjust_cfa_offset -8
    call r11
    add rsp, 104
    .cfi_adjust_cfa_offset -104
    ret
    qmpi_copy_words_across_pages 14, 128
.endm

// --- PMPI → QMPI; r11 is the payload. `at` is how far the stack pointer is below the return address.
// `context`: 0 is the return address, 1 the one that is kept, 2 none.
.macro qmpi_up_context context, at
    .if \context == 2
        xor edi, edi
    .elseif \context == 1
        qmpi_recall 5f
        jmp 6f
5:
        mov rdi, qword ptr [r11 + {word}]
        test rdi, rdi
        cmovz rdi, qword ptr [rsp + \at]
6:
    .else
        mov rdi, qword ptr [rsp + \at]
    .endif
.endm

.macro qmpi_up_shift n
    .if \n > 3
        mov r9, rcx
    .endif
    .if \n > 2
        mov r8, rdx
    .endif
    .if \n > 1
        mov rcx, rsi
    .endif
    .if \n > 0
        mov rdx, rdi
    .endif
.endm

.macro qmpi_up_registers n, context, at
    qmpi_up_shift \n
    mov esi, dword ptr [r11 + {number}]
    qmpi_up_context \context, \at
.endm

// The frame from n = 5 on, with the words that go on the stack.
.macro qmpi_up_enter n
    // n - 4 words, and one more where the stack would not be aligned to 16 at the call.
    .set .Lqmpi_frame, 8 * (\n - 4 + ((\n - 4 + 1) % 2))
    sub rsp, .Lqmpi_frame
    .cfi_adjust_cfa_offset .Lqmpi_frame
    mov qword ptr [rsp], r8
    .if \n > 5
        mov qword ptr [rsp + 8], r9
    .endif
    .if \n > 6
        .set .Lqmpi_k, 7
        .rept \n - 6
            mov r10, qword ptr [rsp + .Lqmpi_frame + 8 * (.Lqmpi_k - 6)]
            mov qword ptr [rsp + 8 * (.Lqmpi_k - 5)], r10
            .set .Lqmpi_k, .Lqmpi_k + 1
        .endr
    .endif
.endm

.macro qmpi_up_leave
    add rsp, .Lqmpi_frame
    .cfi_adjust_cfa_offset -.Lqmpi_frame
    ret
.endm

.macro qmpi_up_body n, context
    .cfi_startproc
    .if \n <= 4
        qmpi_up_registers \n, \context, 0
        jmp qword ptr [r11 + {target}]
    .else
        qmpi_up_enter \n
        qmpi_up_registers \n, \context, .Lqmpi_frame
        call qword ptr [r11 + {target}]
        qmpi_up_leave
    .endif
    .cfi_endproc
.endm

// The variadic one: six words in registers, and a copy of the words that may be arguments.
.macro qmpi_up_variadic_body context
    .cfi_startproc
    sub rsp, 104
    .cfi_adjust_cfa_offset 104
    qmpi_copy_words 12, 112
    push r9
    .cfi_adjust_cfa_offset 8
    push r8
    .cfi_adjust_cfa_offset 8
    qmpi_up_registers 18, \context, 120
    call qword ptr [r11 + {target}]
    add rsp, 120
    .cfi_adjust_cfa_offset -120
    ret
    qmpi_copy_words_across_pages 12, 112
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

// --- PMPI → thesis; r11 is the payload.
.macro qmpi_append n
    .balign 16
qmpi_append_\n:
    .cfi_startproc
    .if \n == 0
        mov edi, dword ptr [r11 + {number}]
        mov rsi, qword ptr [r11 + {word}]
    .endif
    .if \n == 1
        mov esi, dword ptr [r11 + {number}]
        mov rdx, qword ptr [r11 + {word}]
    .endif
    .if \n == 2
        mov edx, dword ptr [r11 + {number}]
        mov rcx, qword ptr [r11 + {word}]
    .endif
    .if \n == 3
        mov ecx, dword ptr [r11 + {number}]
        mov r8, qword ptr [r11 + {word}]
    .endif
    .if \n == 4
        mov r8d, dword ptr [r11 + {number}]
        mov r9, qword ptr [r11 + {word}]
    .endif
    .if \n <= 4
        jmp qword ptr [r11 + {target}]
    .else
        // n + 2 - 6 words.
        .set .Lqmpi_frame, 8 * (\n - 4 + ((\n - 4 + 1) % 2))
        sub rsp, .Lqmpi_frame
        .cfi_adjust_cfa_offset .Lqmpi_frame
        .if \n > 6
            .set .Lqmpi_k, 7
            .rept \n - 6
                mov r10, qword ptr [rsp + .Lqmpi_frame + 8 * (.Lqmpi_k - 6)]
                mov qword ptr [rsp + 8 * (.Lqmpi_k - 7)], r10
                .set .Lqmpi_k, .Lqmpi_k + 1
            .endr
        .endif
        .if \n == 5
            mov r9d, dword ptr [r11 + {number}]
            mov r10, qword ptr [r11 + {word}]
            mov qword ptr [rsp], r10
        .else
            mov r10d, dword ptr [r11 + {number}]
            mov qword ptr [rsp + 8 * (\n - 6)], r10
            mov r10, qword ptr [r11 + {word}]
            mov qword ptr [rsp + 8 * (\n - 5)], r10
        .endif
        call qword ptr [r11 + {target}]
        add rsp, .Lqmpi_frame
        .cfi_adjust_cfa_offset -.Lqmpi_frame
        ret
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
        jmp qword ptr [rip + {direct_rows} + .Lqmpi_row]
        .balign 16, 0xcc
        .set .Lqmpi_row, .Lqmpi_row + 8
    .endr
.endm

.macro qmpi_direct_up n, count
    .balign 16
qmpi_direct_up_\n:
    .rept \count
        qmpi_up_shift \n
        mov esi, dword ptr [rip + {direct_rows} + .Lqmpi_row + 8]
        mov rdi, qword ptr [rsp]
        jmp qword ptr [rip + {direct_rows} + .Lqmpi_row]
        .balign 16, 0xcc
        .set .Lqmpi_row, .Lqmpi_row + 16
    .endr
.endm

.macro qmpi_direct_up_frame n, count
    .balign 16
qmpi_direct_up_\n:
    .rept \count
        qmpi_up_enter \n
        qmpi_up_shift \n
        mov esi, dword ptr [rip + {frame_rows} + .Lqmpi_row + 8]
        mov rdi, qword ptr [rsp + .Lqmpi_frame]
        call qword ptr [rip + {frame_rows} + .Lqmpi_row]
        qmpi_up_leave
        .balign 16, 0xcc
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
    .irp n, 0, 1, 2, 3, 4
        qmpi_direct_up \n, {direct}
    .endr
qmpi_direct_up_end:
    .balign {page}, 0xcc
qmpi_label qmpi_direct_end
    .set .Lqmpi_row, 0
    .irp n, 5, 6, 7, 8, 9, 10, 11, 12, 13
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
    .irp n, 0, 1, 2, 3, 4, end
        .quad qmpi_direct_up_\n
    .endr
qmpi_label qmpi_direct_up_frame_table
    .irp n, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
        .quad qmpi_direct_up_\n
    .endr
.popsection

// The same where contexts are null so far (`NULL_STUBS`): a block of its own, which only `libqmpi_bridge.so` uses.
.macro qmpi_direct_down_null n, count
    .balign 16
qmpi_direct_down_null_\n:
    .rept \count
        test rdi, rdi
        jnz 9f
        qmpi_down_body \n
        jmp qword ptr [rip + {null_rows} + .Lqmpi_row]
9:
        mov r11, qword ptr [rip + {null_rows} + .Lqmpi_row]
        jmp qword ptr [rip + {null_rows} + {with_context} + 8 * \n]
        .balign 16, 0xcc
        .set .Lqmpi_row, .Lqmpi_row + 8
    .endr
.endm

.macro qmpi_direct_up_null n, count
    .balign 16
qmpi_direct_up_null_\n:
    .rept \count
        qmpi_up_shift \n
        mov esi, dword ptr [rip + {null_rows} + .Lqmpi_row + 8]
        xor edi, edi
        jmp qword ptr [rip + {null_rows} + .Lqmpi_row]
        .balign 16, 0xcc
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
    .irp n, 0, 1, 2, 3, 4
        qmpi_direct_up_null \n, {direct}
    .endr
qmpi_direct_up_null_end:
    .cfi_endproc
    .balign {page}, 0xcc
qmpi_label qmpi_null_end
.popsection

.pushsection .data.rel.ro.qmpi_null, "aw", @progbits
    .balign 8
qmpi_label qmpi_direct_down_null_table
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
        .quad qmpi_direct_down_null_\n
    .endr
qmpi_label qmpi_direct_up_null_table
    .irp n, 0, 1, 2, 3, 4, end
        .quad qmpi_direct_up_null_\n
    .endr
.popsection

// --- All of them, and tables of their addresses.
.macro qmpi_each stub
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20
        \stub \n
    .endr
.endm

.pushsection .text.qmpi_shift, "ax", @progbits
    qmpi_each qmpi_down
    qmpi_each qmpi_down_record
    qmpi_each qmpi_down_null
    qmpi_each qmpi_up
    qmpi_each qmpi_up_recall
    qmpi_each qmpi_up_null
    qmpi_each qmpi_append
    .balign 16
qmpi_down_v:
    .cfi_startproc
    qmpi_down_variadic_body
    .cfi_endproc
    .balign 16
qmpi_down_record_v:
    .cfi_startproc
    qmpi_record_context
    qmpi_down_variadic_body
    .cfi_endproc
    .balign 16
qmpi_up_v:
    qmpi_up_variadic_body 0
    .balign 16
qmpi_up_recall_v:
    qmpi_up_variadic_body 1
    .balign 16
qmpi_up_null_v:
    qmpi_up_variadic_body 2
    .balign 16
qmpi_down_null_v:
    .cfi_startproc
    test rdi, rdi
    jz 7f
    qmpi_down_with_context v
7:
    qmpi_down_variadic_body
    .cfi_endproc
    // The first context that is not null. Goes on at r10, with r11 in its place: r11 is what the way out needs.
    .balign 16
qmpi_first_context:
    .cfi_startproc
    qmpi_keep_arguments
    push r10
    push r11
    call {first_context}
    pop r10
    pop rax
    qmpi_go_on_with_arguments
    .cfi_endproc

// The application → a PMPI tool, with the return address recorded: through memory, as no register is free.
qmpi_function qmpi_record
    qmpi_record_return
    jmp r11
qmpi_end qmpi_record

// A function of a QMPI tool with its id, which is the second argument.
qmpi_function qmpi_numbered
    mov esi, dword ptr [r11 + {number}]
    jmp qword ptr [r11 + {target}]
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

// What the text of several features needs. `qmpi_keep_arguments` and `qmpi_go_on_with_arguments` are those of `ring/src/arch/x86_64/`.

.macro qmpi_label name
    .hidden \name
    .globl \name
\name:
.endm

.macro qmpi_function name, alignment=16
    .balign \alignment
    .type \name, @function
    qmpi_label \name
    .cfi_startproc
.endm

.macro qmpi_end name
    .cfi_endproc
    .size \name, . - \name
.endm

// Keeps the six registers that arguments come in, and passes them to a function of Rust, with the payload and the address of the words on
// the stack; goes on to where that function says.
.macro qmpi_decide function
    push rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp, -16
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    sub rsp, 48
    mov [rsp], rdi
    mov [rsp + 8], rsi
    mov [rsp + 16], rdx
    mov [rsp + 24], rcx
    mov [rsp + 32], r8
    mov [rsp + 40], r9
    mov rdi, r11
    mov rsi, rsp
    lea rdx, [rbp + 16]
    call \function
    mov r11, rax
    mov rdi, [rsp]
    mov rsi, [rsp + 8]
    mov rdx, [rsp + 16]
    mov rcx, [rsp + 24]
    mov r8, [rsp + 32]
    mov r9, [rsp + 40]
    leave
    .cfi_def_cfa rsp, 8
    jmp r11
.endm

// Copies `words` words from rsp + `from`, directly above a return address, to rsp. Uses r10 and the flags. Once in a function, which has
// `qmpi_copy_words_across_pages` with the same numbers behind its end. How far the stack can be read: `stack_words.rs`.
.macro qmpi_copy_words words, from
    lea r10, [rsp + \from - 8]
    and r10d, 4095
    cmp r10d, 4096 - 8 - 8 * \words
    ja 18f
    .cfi_remember_state
    .set .Lqmpi_k, 0
    .rept \words
        mov r10, qword ptr [rsp + \from + 8 * .Lqmpi_k]
        mov qword ptr [rsp + 8 * .Lqmpi_k], r10
        .set .Lqmpi_k, .Lqmpi_k + 1
    .endr
19:
.endm

// For the case that the words do not end in the page of the return address.
.macro qmpi_copy_words_across_pages words, from
    .cfi_restore_state
18:
    lea r10, [rsp + \from]
    call qmpi_copy_readable_\words
    jmp 19b
.endm

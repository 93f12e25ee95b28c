// What the text of several features needs. `qmpi_keep_arguments`, `qmpi_restore_arguments` and `qmpi_go_on_with_arguments` are those of
    // `ring/src/arch/aarch64/`.

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

// Keeps the registers that arguments come in, and passes them to a function of Rust, with the payload and the address of the words on the
// stack; goes on to where that function says.
.macro qmpi_decide function
    qmpi_keep_arguments
    mov x0, x17
    add x1, x29, 16
    add x2, x29, 224
    bl \function
    qmpi_go_on_with_arguments
.endm

// Copies `words` words from x29 + `from`, the caller's stack pointer, to sp. x29 is a frame of the stub's, with x30 in it. Uses x9 to x16
// and the flags. How far the stack can be read: `stack_words.rs`.
.macro qmpi_copy_words words, from
    add x16, x29, \from
    mov x15, sp
    mov x14, \words
    bl qmpi_copy_readable
.endm

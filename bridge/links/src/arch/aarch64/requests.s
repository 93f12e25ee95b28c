// Stubs in front of functions of the MPI library that start or complete requests. As long as there is nothing to watch for they are a jump.
// Otherwise the function is called from a frame, with CFI:
//
//     x29+16      the caller's stack arguments
//     x29+8       x30, the return address
//     x29         saved x29
//     x29-`size`  `Watched`: x0 .. x7, what the two functions of Rust tell each other, the payload, the result
//     sp          copy of the stack arguments

// Makes the frame, with the payload in it.
.macro qmpi_watch_enter
    stp x29, x30, [sp, -16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    sub sp, sp, {size}
    stp x0, x1, [sp]
    stp x2, x3, [sp, 16]
    stp x4, x5, [sp, 32]
    stp x6, x7, [sp, 48]
    str x17, [sp, {watch}]
.endm

// Calls the function with the arguments, and stores its result.
.macro qmpi_watch_call
    ldur x17, [x29, {watch} - {size}]
    ldr x11, [x17, {words}]
    add x9, x11, 1
    bic x9, x9, 1
    sub sp, sp, x9, lsl 3
    add x12, x29, 16
    cbz x11, 4f
3:
    sub x11, x11, 1
    ldr x9, [x12, x11, lsl 3]
    str x9, [sp, x11, lsl 3]
    cbnz x11, 3b
4:
    ldp x0, x1, [x29, 0 - {size}]
    ldp x2, x3, [x29, 16 - {size}]
    ldp x4, x5, [x29, 32 - {size}]
    ldp x6, x7, [x29, 48 - {size}]
    ldr x16, [x17, {target}]
    blr x16
    stur x0, [x29, {result} - {size}]
.endm

// Returns the result.
.macro qmpi_watch_leave
    ldur x0, [x29, {result} - {size}]
    mov sp, x29
    ldp x29, x30, [sp], 16
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
.endm

.pushsection .text.qmpi_requests, "ax", @progbits
qmpi_function qmpi_watch_start
    adrp x9, {active}
    ldr x9, [x9, :lo12:{active}]
    ldr w9, [x9]
    cbnz w9, 2f
    ldr x16, [x17, {target}]
    br x16
2:
    qmpi_watch_enter
    qmpi_watch_call
    sub x0, x29, {size}
    bl {after_start}
    qmpi_watch_leave
qmpi_end qmpi_watch_start

qmpi_function qmpi_watch_completion
    adrp x9, {count}
    ldr x9, [x9, :lo12:{count}]
    cbnz x9, 2f
    ldr x16, [x17, {target}]
    br x16
2:
    qmpi_watch_enter
    sub x0, x29, {size}
    bl {before}
    qmpi_watch_call
    sub x0, x29, {size}
    bl {after_completion}
    qmpi_watch_leave
qmpi_end qmpi_watch_completion
.popsection

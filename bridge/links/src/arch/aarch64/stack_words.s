// Copies words that may be arguments from the caller's stack, as many as can be read. The words begin right above the stub's own frame: how far
// its page goes they can be read. The kernel says whether the next page can: `rt_sigprocmask` reads the new mask there before it looks at
// `how`, which is invalid.

.pushsection .text.qmpi_copy_readable, "ax", @progbits
// Copies x14 words from x16 to x15.
qmpi_function qmpi_copy_readable
    // The page that the byte before the first word lies in, and the last byte.
    sub x9, x16, 1
    orr x9, x9, {smallest_page} - 1
    add x10, x16, x14, lsl 3
    sub x10, x10, 1
    cmp x10, x9
    b.ls 3f
    // The kernel keeps all registers but x0.
    mov x10, x0
    mov x11, x1
    mov x12, x2
    mov x13, x3
    mov x0, -1
    add x1, x9, 1
    mov x2, xzr
    mov x3, {kernel_sigset_size}
    mov x9, x8
    mov x8, {rt_sigprocmask}
    svc 0
    mov x8, x9
    cmn x0, {efault}
    b.ne 2f
    sub x14, x1, x16
    lsr x14, x14, 3
2:
    mov x0, x10
    mov x1, x11
    mov x2, x12
    mov x3, x13
3:
    cbz x14, 4f
    ldr x9, [x16], 8
    str x9, [x15], 8
    sub x14, x14, 1
    b 3b
4:
    ret
qmpi_end qmpi_copy_readable
.popsection

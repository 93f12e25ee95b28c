// The resolver; x11: the rows, x9: the number of the stub. The context that is recorded for this thread may be of use.

.pushsection .text.qmpi_resolve, "ax", @progbits
qmpi_function qmpi_resolve
    qmpi_keep_arguments
    str x11, [x29, 88]
    sub sp, sp, 16
    str x9, [sp]
    bl {topmost}
    mov x2, x0
    ldr x0, [x29, 88]
    ldr w1, [sp]
    bl {resolve}
    qmpi_go_on_with_arguments
qmpi_end qmpi_resolve
.popsection

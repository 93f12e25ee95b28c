.pushsection .text.qmpi_own_calls, "ax", @progbits
    qmpi_function qmpi_own_entry
    qmpi_keep_arguments
    mov x0, x17
    add x1, x29, 224
    mov x2, x30
    bl {enter}
    qmpi_go_on_with_arguments
    qmpi_end qmpi_own_entry
    qmpi_function qmpi_own_link
    qmpi_keep_arguments
    mov x0, x17
    add x1, x29, 224
    bl {decide}
    qmpi_go_on_with_arguments
    qmpi_end qmpi_own_link
.popsection

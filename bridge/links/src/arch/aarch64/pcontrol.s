// `MPI_Pcontrol(level, ...)`: calls the tool, then goes on to the next link. All that can hold an argument is kept: eight registers, eight vector
// registers and twelve words of the stack (AAPCS64 6.8.2: unnamed arguments are passed as named ones).

.pushsection .text.qmpi_pcontrol, "ax", @progbits
qmpi_function qmpi_pcontrol
    qmpi_keep_arguments
    str x17, [x29, 88]
    sub sp, sp, 96
    qmpi_copy_words 12, 224
    ldr x16, [x17, {tool}]
    blr x16
    ldr x17, [x29, 88]
    ldr x0, [x17, {next}]
    qmpi_go_on_with_arguments
qmpi_end qmpi_pcontrol
.popsection

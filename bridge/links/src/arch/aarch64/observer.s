// A call that is reported before it goes on, with all its arguments.

.pushsection .text.qmpi_observer, "ax", @progbits
qmpi_function qmpi_observer
    qmpi_keep_arguments
    str x17, [x29, 88]
    // The second argument stays: what is told may read it.
    ldr x0, [x17, {edge}]
    ldr x16, [x17, {notify}]
    blr x16
    ldr x17, [x29, 88]
    ldr x0, [x17, {target}]
    qmpi_go_on_with_arguments
qmpi_end qmpi_observer
.popsection

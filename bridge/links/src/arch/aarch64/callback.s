// A callback with one argument of its own, and one from the payload.

.pushsection .text.qmpi_callback, "ax", @progbits
qmpi_function qmpi_with_data
    ldr x1, [x17, {data}]
    ldr x16, [x17, {function}]
    br x16
qmpi_end qmpi_with_data
.popsection

// A call of a layer that sees some of its calls.

.pushsection .text.qmpi_filter, "ax", @progbits
qmpi_function qmpi_switch_filtered
    qmpi_decide {decide}
qmpi_end qmpi_switch_filtered
.popsection

// A call of something that did not exist when the tool was loaded: asks where it goes.

.pushsection .text.qmpi_missing, "ax", @progbits
qmpi_function qmpi_missing
    qmpi_keep_arguments
    mov rdi, r11
    call {destination}
    qmpi_go_on_with_arguments
qmpi_end qmpi_missing
.popsection

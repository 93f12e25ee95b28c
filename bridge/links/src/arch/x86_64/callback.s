// A callback with one argument of its own, and one from the payload.

.pushsection .text.qmpi_callback, "ax", @progbits
qmpi_function qmpi_with_data
    mov rsi, qword ptr [r11 + {data}]
    jmp qword ptr [r11 + {function}]
qmpi_end qmpi_with_data
.popsection

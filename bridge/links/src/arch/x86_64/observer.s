// A call that is reported before it goes on, with all its arguments.

.pushsection .text.qmpi_observer, "ax", @progbits
qmpi_function qmpi_observer
    qmpi_keep_arguments
    // A word of the frame that no argument needs.
    mov [rsp + 56], r11
    mov rdi, qword ptr [r11 + {edge}]
    call qword ptr [r11 + {notify}]
    mov r11, [rsp + 56]
    mov rax, qword ptr [r11 + {target}]
    qmpi_go_on_with_arguments
qmpi_end qmpi_observer
.popsection

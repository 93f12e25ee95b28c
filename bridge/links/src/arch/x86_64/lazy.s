// The resolver; r11: the rows, r10: the number of the stub. The context that is recorded for this thread may be of use.

.pushsection .text.qmpi_resolve, "ax", @progbits
qmpi_function qmpi_resolve
    qmpi_keep_arguments
    mov rdi, r11
    mov esi, r10d
    // The topmost record (`caller.s`).
    mov r10, qword ptr [rip + {caller_offset}]
    add r10, qword ptr fs:[r10]
    mov rdx, qword ptr fs:[r10 + 8]
    call {resolve}
    qmpi_go_on_with_arguments
qmpi_end qmpi_resolve
.popsection

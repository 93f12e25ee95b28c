// What a tool that wraps `dlsym` or `dlvsym` for the program goes on to: with RTLD_NEXT (-1) the tool's own override, with the tool as the
// caller; with any other handle what is below.

.macro qmpi_next_look_up name, of_tool
qmpi_function \name
    cmp rdi, -1
    jne 2f
    mov r11, qword ptr [r11 + {answers}]
    jmp \of_tool
2:
    jmp qword ptr [r11 + {below}]
qmpi_end \name
.endm

.pushsection .text.qmpi_look_ups, "ax", @progbits
    qmpi_next_look_up qmpi_next_dlsym, {dlsym}
    qmpi_next_look_up qmpi_next_dlvsym, {dlvsym}
.popsection

// What a tool that wraps `dlsym` or `dlvsym` for the program goes on to: with RTLD_NEXT (-1) the tool's own override, with the tool as the
// caller; with any other handle what is below.

.macro qmpi_next_look_up name, of_tool
qmpi_function \name
    cmn x0, 1
    b.ne 2f
    ldr x17, [x17, {answers}]
    b \of_tool
2:
    ldr x16, [x17, {below}]
    br x16
qmpi_end \name
.endm

.pushsection .text.qmpi_look_ups, "ax", @progbits
    qmpi_next_look_up qmpi_next_dlsym, {dlsym}
    qmpi_next_look_up qmpi_next_dlvsym, {dlvsym}
.popsection

// What unit tests call.

.pushsection .text.qmpi_in_tests, "ax", @progbits
qmpi_function qmpi_test_payload
    mov x0, x17
    ret
qmpi_end qmpi_test_payload

qmpi_function qmpi_test_jump
    adrp x16, {link}
    ldr x16, [x16, :lo12:{link}]
    br x16
qmpi_end qmpi_test_jump

qmpi_function qmpi_test_call_on
    stp x29, x30, [sp, -16]!
    mov x29, sp
    mov sp, x0
    mov x16, x1
    mov x0, 0
    mov x1, 1
    mov x2, 2
    mov x3, 3
    mov x4, 4
    mov x5, 5
    mov x6, 6
    mov x7, 7
    blr x16
    mov sp, x29
    ldp x29, x30, [sp], 16
    ret
qmpi_end qmpi_test_call_on
.popsection

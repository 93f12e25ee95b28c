// What unit tests call.

.pushsection .text.qmpi_in_tests, "ax", @progbits
qmpi_function qmpi_test_payload
    mov rax, r11
    ret
qmpi_end qmpi_test_payload

qmpi_function qmpi_test_jump
    jmp qword ptr [rip + {link}]
qmpi_end qmpi_test_jump

qmpi_function qmpi_test_call_on
    push rbp
    mov rbp, rsp
    mov rsp, rdi
    mov r11, rsi
    xor edi, edi
    mov esi, 1
    mov edx, 2
    mov ecx, 3
    mov r8d, 4
    mov r9d, 5
    xor eax, eax
    call r11
    mov rsp, rbp
    pop rbp
    ret
qmpi_end qmpi_test_call_on
.popsection

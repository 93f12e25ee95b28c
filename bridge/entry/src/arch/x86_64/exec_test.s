// For unit tests: goes on to the stub for so many arguments. Called as exec_func, with the next level and that number.
    mov eax, esi
    mov r11d, edx
    lea r10, [rip + {stubs}]
    jmp qword ptr [r10 + 8 * r11]

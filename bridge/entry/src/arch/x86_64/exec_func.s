// exec_func(f, level, index, vector, args...): checks them, and goes on to the stub for the function's number of arguments (exec_stubs.s).
    .cfi_startproc
    test rdi, rdi
    je {misused}
    test rcx, rcx
    je {misused}
    // Without signs: what is negative is too large.
    cmp edx, {count}
    jae {misused}
    cmp esi, dword ptr [rcx + {total}]
    jae {misused}
    mov eax, esi
    mov r10, qword ptr [rcx + {items}]
    mov r10, qword ptr [r10 + 8 * rax]
    mov edx, edx
    mov r11, rdx
    shl r11, 4
    mov eax, dword ptr [r10 + r11 + {level}]
    lea r10, [rip + {args}]
    movzx r11d, byte ptr [r10 + rdx]
    lea r10, [rip + {stubs}]
    jmp qword ptr [r10 + 8 * r11]
    .cfi_endproc

// dlopen(file, mode) of the program, or as a tool passes it on for the program: jumps on for the program, calls in the place of a tool.
    .cfi_startproc
    push rsi
    .cfi_adjust_cfa_offset 8
    mov rsi, qword ptr [rsp + 8]
    call {goes_on}
    mov rdi, rax
    pop rsi
    .cfi_adjust_cfa_offset -8
    test rdx, rdx
    jne 2f
    sub rsp, 8
    .cfi_adjust_cfa_offset 8
    call qword ptr [rip + {real}@GOTPCREL]
    add rsp, 8
    .cfi_adjust_cfa_offset -8
    ret
2:
    jmp qword ptr [rip + {real}@GOTPCREL]
    .cfi_endproc

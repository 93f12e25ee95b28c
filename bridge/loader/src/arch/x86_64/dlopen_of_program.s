// dlopen(file, mode) of the program: with the file that `show` returns on to the process's.
    .cfi_startproc
    push rsi
    .cfi_adjust_cfa_offset 8
    call {show}
    mov rdi, rax
    pop rsi
    .cfi_adjust_cfa_offset -8
    jmp qword ptr [rip + {real}@GOTPCREL]
    .cfi_endproc

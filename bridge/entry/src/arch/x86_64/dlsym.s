// dlsym(handle, name): asks with which handle to go on, and where. glibc's function sees the caller of this one.
    .cfi_startproc
    mov rdx, qword ptr [rsp]
    push rsi
    .cfi_adjust_cfa_offset 8
    call {decide}
    pop rsi
    .cfi_adjust_cfa_offset -8
    mov rdi, rax
    jmp rdx
    .cfi_endproc

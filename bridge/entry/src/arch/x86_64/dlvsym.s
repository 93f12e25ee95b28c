// dlvsym(handle, name, version), in the same way as dlsym.
    .cfi_startproc
    mov rcx, qword ptr [rsp]
    push rsi
    .cfi_adjust_cfa_offset 8
    push rdx
    .cfi_adjust_cfa_offset 8
    sub rsp, 8
    .cfi_adjust_cfa_offset 8
    call {decide}
    mov r11, rdx
    add rsp, 8
    .cfi_adjust_cfa_offset -8
    pop rdx
    .cfi_adjust_cfa_offset -8
    pop rsi
    .cfi_adjust_cfa_offset -8
    mov rdi, rax
    jmp r11
    .cfi_endproc

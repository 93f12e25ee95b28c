// dlopen(file, mode) of a tool: `prepare` returns both arguments anew, or the handle.
    .cfi_startproc
    sub rsp, 8
    .cfi_adjust_cfa_offset 8
    mov rdx, r11
    mov rcx, qword ptr [rsp + 8]
    call {prepare}
    add rsp, 8
    .cfi_adjust_cfa_offset -8
    cmp rdx, {is_handle}
    je 2f
    mov rdi, rax
    mov rsi, rdx
    jmp qword ptr [rip + {real}@GOTPCREL]
2:
    ret
    .cfi_endproc

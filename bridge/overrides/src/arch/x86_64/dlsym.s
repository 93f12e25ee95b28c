// dlsym(handle, name), and dlvsym(handle, name, version), of a tool. At the entry r11 has the answers of the instance, from its
// trampoline; the caller is at [rsp], and the arguments are untouched. Asks `decide`; null means that glibc shall answer, with the tool as its caller.
    .cfi_startproc
    push rdi
    .cfi_adjust_cfa_offset 8
    push rsi
    .cfi_adjust_cfa_offset 8
    push rdx
    .cfi_adjust_cfa_offset 8
    mov rdx, r11
    mov rcx, qword ptr [rsp + 24]
    call {decide}
    pop rdx
    .cfi_adjust_cfa_offset -8
    pop rsi
    .cfi_adjust_cfa_offset -8
    pop rdi
    .cfi_adjust_cfa_offset -8
    test rax, rax
    jz 2f
    ret
2:
    jmp qword ptr [rip + {real}]
    .cfi_endproc

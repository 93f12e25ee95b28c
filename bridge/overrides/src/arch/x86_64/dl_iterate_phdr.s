// dl_iterate_phdr(callback, data) of a tool: goes on with the caller and with the answers of the instance, from r11.
    .cfi_startproc
    mov rdx, qword ptr [rsp]
    mov rcx, r11
    jmp {to}
    .cfi_endproc

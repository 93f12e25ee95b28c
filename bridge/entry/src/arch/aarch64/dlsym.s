// dlsym(handle, name): asks with which handle to go on, and where. glibc's function sees the caller of this one.
    .cfi_startproc
    stp x29, x30, [sp, -32]!
    .cfi_def_cfa_offset 32
    .cfi_offset x29, -32
    .cfi_offset x30, -24
    mov x29, sp
    str x1, [sp, 16]
    mov x2, x30
    bl {decide}
    mov x16, x1
    ldr x1, [sp, 16]
    ldp x29, x30, [sp], 32
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    br x16
    .cfi_endproc

// dlvsym(handle, name, version), in the same way as dlsym.
    .cfi_startproc
    stp x29, x30, [sp, -32]!
    .cfi_def_cfa_offset 32
    .cfi_offset x29, -32
    .cfi_offset x30, -24
    mov x29, sp
    stp x1, x2, [sp, 16]
    mov x3, x30
    bl {decide}
    mov x16, x1
    ldp x1, x2, [sp, 16]
    ldp x29, x30, [sp], 32
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    br x16
    .cfi_endproc

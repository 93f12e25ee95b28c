// dlsym(handle, name), and dlvsym(handle, name, version), of a tool. At the entry x17 has the answers of the instance, from its
// trampoline; x30 is the caller, and the arguments are untouched. Asks `decide`; null means that glibc shall answer, with the tool as its caller.
    .cfi_startproc
    stp x29, x30, [sp, -48]!
    .cfi_def_cfa_offset 48
    .cfi_offset x29, -48
    .cfi_offset x30, -40
    mov x29, sp
    stp x0, x1, [sp, 16]
    str x2, [sp, 32]
    mov x2, x17
    mov x3, x30
    bl {decide}
    mov x9, x0
    ldp x0, x1, [sp, 16]
    ldr x2, [sp, 32]
    ldp x29, x30, [sp], 48
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    cbz x9, 2f
    mov x0, x9
    ret
2:
    adrp x16, {real}
    ldr x16, [x16, :lo12:{real}]
    br x16
    .cfi_endproc

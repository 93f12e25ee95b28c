// dlopen(file, mode) of a tool: `prepare` returns both arguments anew, or the handle.
    .cfi_startproc
    stp x29, x30, [sp, -16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov x29, sp
    mov x2, x17
    mov x3, x30
    bl {prepare}
    ldp x29, x30, [sp], 16
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    cmp x1, {is_handle}
    b.eq 2f
    adrp x16, :got:{real}
    ldr x16, [x16, :got_lo12:{real}]
    br x16
2:
    ret
    .cfi_endproc

// dlopen(file, mode) of the program, or as a tool passes it on for the program: jumps on for the program, calls in the place of a tool.
    .cfi_startproc
    stp x29, x30, [sp, -32]!
    .cfi_def_cfa_offset 32
    .cfi_offset x29, -32
    .cfi_offset x30, -24
    mov x29, sp
    str x1, [sp, 16]
    mov x1, x30
    bl {goes_on}
    mov x2, x1
    ldr x1, [sp, 16]
    adrp x16, :got:{real}
    ldr x16, [x16, :got_lo12:{real}]
    cbnz x2, 2f
    blr x16
    ldp x29, x30, [sp], 32
    .cfi_remember_state
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
2:
    .cfi_restore_state
    ldp x29, x30, [sp], 32
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    br x16
    .cfi_endproc

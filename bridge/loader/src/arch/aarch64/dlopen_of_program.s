// dlopen(file, mode) of the program: with the file that `show` returns on to the process's.
    .cfi_startproc
    stp x29, x30, [sp, -32]!
    .cfi_def_cfa_offset 32
    .cfi_offset x29, -32
    .cfi_offset x30, -24
    mov x29, sp
    str x1, [sp, 16]
    bl {show}
    ldr x1, [sp, 16]
    ldp x29, x30, [sp], 32
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    adrp x16, :got:{real}
    ldr x16, [x16, :got_lo12:{real}]
    br x16
    .cfi_endproc

// exec_func(f, level, index, vector, args...): checks them, and goes on to the stub for the function's number of arguments (exec_stubs.s).
    .cfi_startproc
    cbz x0, 2f
    cbz x3, 2f
    // Without signs: what is negative is too large.
    cmp w2, {count}
    b.hs 2f
    ldr w9, [x3, {total}]
    cmp w1, w9
    b.hs 2f
    ldr x10, [x3, {items}]
    ldr x10, [x10, w1, uxtw 3]
    add x10, x10, w2, uxtw 4
    ldr w9, [x10, {level}]
    adrp x10, {args}
    add x10, x10, :lo12:{args}
    ldrb w11, [x10, w2, uxtw]
    adrp x10, {stubs}
    add x10, x10, :lo12:{stubs}
    ldr x17, [x10, x11, lsl 3]
    br x17
2:
    b {misused}
    .cfi_endproc

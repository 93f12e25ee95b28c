// Passes the instance on, from the trampoline's payload, as the fourth argument of a function that has three at most.
    .cfi_startproc
    mov x3, x17
    b {to}
    .cfi_endproc

// Passes the instance on, from the trampoline's payload, as the fourth argument of a function that has three at most.
    .cfi_startproc
    mov rcx, r11
    jmp {to}
    .cfi_endproc

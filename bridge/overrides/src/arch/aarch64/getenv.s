// getenv(name), and secure_getenv(name), of a tool: goes on with the answers of the instance, from x17.
    .cfi_startproc
    mov x1, x17
    b {to}
    .cfi_endproc

// getenv(name), and secure_getenv(name), of a tool: goes on with the answers of the instance, from r11.
    .cfi_startproc
    mov rsi, r11
    jmp {to}
    .cfi_endproc

// An exported name-shifted function: goes on with its number in `r11`.
// 12 bytes, not aligned: tools call them now and then, and there are hundreds.
    mov r11d, {id}
    jmp qmpi_call_shifted
    .balign 4, 0xcc

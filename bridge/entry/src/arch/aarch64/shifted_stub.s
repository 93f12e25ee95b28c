// An exported name-shifted function: goes on with its number in `x17`.
// 8 bytes, not aligned: tools call them now and then, and there are hundreds.
    mov w17, {id}
    b qmpi_call_shifted

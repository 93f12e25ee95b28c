// The end of an entry point, where the process has none of its symbols. The return address tells which function it was.
    call qmpi_missing
2:
    jmp r11

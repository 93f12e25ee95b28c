    jmp {target}

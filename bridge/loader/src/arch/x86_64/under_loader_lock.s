// The function behind a symbol of the type STT_GNU_IFUNC.
    // Rust says @function; of two types the assembler takes this one.
    .type qmpi_under_loader_lock, @gnu_indirect_function
    jmp {resolve}

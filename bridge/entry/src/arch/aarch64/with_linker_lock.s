// Rust says @function; of two types the assembler takes this one.
    .type qmpi_with_linker_lock, @gnu_indirect_function
    b {resolve}

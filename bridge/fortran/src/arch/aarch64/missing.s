// An entry point comes here; `x0` is an address in it.
.pushsection .text.qmpi_missing, "ax", @progbits
    .hidden qmpi_missing
    .globl qmpi_missing
    .type qmpi_missing, @function
qmpi_missing:
    b {say}
    .size qmpi_missing, . - qmpi_missing
.popsection

// `core` as it comes with the compiler names this function of `std` in its unwind tables. Nothing here unwinds.
.pushsection .text.qmpi_no_unwinding, "ax", @progbits
    .hidden rust_eh_personality
    .globl rust_eh_personality
    .type rust_eh_personality, @function
rust_eh_personality:
    brk 1
    .size rust_eh_personality, . - rust_eh_personality
.popsection

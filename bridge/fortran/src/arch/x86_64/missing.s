// Called by an entry point; the return address lies in it. The stack is aligned again for a call.
.pushsection .text.qmpi_missing, "ax", @progbits
    .hidden qmpi_missing
    .globl qmpi_missing
    .type qmpi_missing, @function
qmpi_missing:
    pop rdi
    and rsp, -16
    call {say}
    ud2
    .size qmpi_missing, . - qmpi_missing
.popsection

// `core` as it comes with the compiler names this function of `std` in its unwind tables. Nothing here unwinds.
.pushsection .text.qmpi_no_unwinding, "ax", @progbits
    .hidden rust_eh_personality
    .globl rust_eh_personality
    .type rust_eh_personality, @function
rust_eh_personality:
    ud2
    .size rust_eh_personality, . - rust_eh_personality
.popsection

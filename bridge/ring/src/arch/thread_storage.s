// Thread-local variables that stubs between layers use, the same on each machine.
//
// qmpi_caller   +0   offset of the topmost record of where the application called (links: arch/*/caller.rs)
//               +8   record 0:  context, where the witness is, what it holds
//               +32  record 1:  ...
// qmpi_level    how many layers the Fortran call has behind it, 0 outside of such calls
// qmpi_own      +0   bytes to the topmost record of a wrapper that was entered (links: own_calls.rs), 0 without one
//               +8   the largest number, in the place of an address on the stack
//               +24  record 1:  function, where its return address is, what it is
//               +48  record 2:  ...
// qmpi_past     a bit for each layer that can be switched off: did the call that starts a request, which is under way, go past it?

.pushsection .tbss.qmpi_thread, "awT", @nobits
    .balign 8
    .hidden qmpi_caller
    .globl qmpi_caller
    .type qmpi_caller, @object
    .size qmpi_caller, {caller}
qmpi_caller:
    .zero {caller}
    .hidden qmpi_level
    .globl qmpi_level
    .type qmpi_level, @object
    .size qmpi_level, 8
qmpi_level:
    .zero 8
    .hidden qmpi_past
    .globl qmpi_past
    .type qmpi_past, @object
    .size qmpi_past, 8
qmpi_past:
    .zero 8
.popsection
.pushsection .tdata.qmpi_thread, "awT", @progbits
    .balign 8
    .hidden qmpi_own
    .globl qmpi_own
    .type qmpi_own, @object
    .size qmpi_own, {own}
qmpi_own:
    .quad 0, -1, 0
    .zero {own} - 24
.popsection

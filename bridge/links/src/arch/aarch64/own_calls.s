// Stubs of a layer whose own calls are hidden. All arguments, the stack and its return address stay as they are; both end in a jump. Whether a
// recorded call is under way is not to be seen from one word here, so Rust decides.

.pushsection .text.qmpi_own_calls, "ax", @progbits
// The layer above calls a wrapper: x17 is an `EnteredEntry`.
qmpi_function qmpi_own_entry
    qmpi_keep_arguments
    mov x0, x17
    add x1, x29, 224
    mov x2, x30
    bl {enter}
    qmpi_go_on_with_arguments
qmpi_end qmpi_own_entry

// The layer calls `PMPI_f`: x17 is a `CalledLink`.
qmpi_function qmpi_own_link
    qmpi_keep_arguments
    mov x0, x17
    add x1, x29, 224
    bl {decide}
    qmpi_go_on_with_arguments
qmpi_end qmpi_own_link
.popsection

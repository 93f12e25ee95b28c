// Links to layers that have a function with `int` counts alone (../../large_counts.rs). x17 is a `LargeCountLink`.

// Goes to 9 unless the argument at this place is an `int`.
.macro qmpi_fits_int place
.if \place < 8
    sxtw x9, w\place
    cmp x9, x\place
.else
    ldrsw x9, [sp, 8 * (\place - 8)]
    ldr x10, [sp, 8 * (\place - 8)]
    cmp x9, x10
.endif
    b.ne 9f
.endm

// A function whose counts are the arguments at these places. The lower half of a register that holds a small number is the `int`.
.macro qmpi_large_counts_of name, places:vararg
    qmpi_function \name
.irp place, \places
    qmpi_fits_int \place
.endr
    ldr x16, [x17, {seen}]
    br x16
9:
    add x9, x17, {went_past}
1:
    ldxr x10, [x9]
    add x10, x10, 1
    stxr w11, x10, [x9]
    cbnz w11, 1b
    ldr x16, [x17, {past}]
    br x16
    qmpi_end \name
.endm

.pushsection .text.qmpi_large_counts, "ax", @progbits
    qmpi_large_counts_of qmpi_large_counts_1, 1
    qmpi_large_counts_of qmpi_large_counts_2, 2
    qmpi_large_counts_of qmpi_large_counts_3, 3
    qmpi_large_counts_of qmpi_large_counts_5, 5
    qmpi_large_counts_of qmpi_large_counts_1_4, 1, 4
    qmpi_large_counts_of qmpi_large_counts_1_5, 1, 5
    qmpi_large_counts_of qmpi_large_counts_1_6, 1, 6
    qmpi_large_counts_of qmpi_large_counts_1_4_8, 1, 4, 8

    // Arrays of counts: Rust makes arrays of `int` and says where the call goes. No frame is left while the tool's wrapper runs, as tools
    // look at their caller.
    qmpi_function qmpi_large_counts_arrays
    qmpi_decide {arrays}
    qmpi_end qmpi_large_counts_arrays

    // The function stores counts: at most seven words, with the link as one more for Rust, which makes the call.
    qmpi_function qmpi_large_counts_stored
    qmpi_label qmpi_large_counts_stored_7
    mov x7, x6
    mov x6, x17
    b {stored}
    qmpi_end qmpi_large_counts_stored
.popsection

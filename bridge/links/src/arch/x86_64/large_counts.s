// Links to layers that have a function with `int` counts alone (../../large_counts.rs). r11 is a `LargeCountLink`.

// Goes to 9 unless the argument at this place is an `int`. rax holds nothing: these functions are not variadic.
.macro qmpi_fits_int place
.if \place == 0
    movsxd rax, edi
    cmp rax, rdi
.elseif \place == 1
    movsxd rax, esi
    cmp rax, rsi
.elseif \place == 2
    movsxd rax, edx
    cmp rax, rdx
.elseif \place == 3
    movsxd rax, ecx
    cmp rax, rcx
.elseif \place == 4
    movsxd rax, r8d
    cmp rax, r8
.elseif \place == 5
    movsxd rax, r9d
    cmp rax, r9
.else
    movsxd rax, dword ptr [rsp + 8 * (\place - 5)]
    cmp rax, qword ptr [rsp + 8 * (\place - 5)]
.endif
    jne 9f
.endm

// A function whose counts are the arguments at these places. The lower half of a register that holds a small number is the `int`.
.macro qmpi_large_counts_of name, places:vararg
    qmpi_function \name
.irp place, \places
    qmpi_fits_int \place
.endr
    jmp qword ptr [r11 + {seen}]
9:
    lock inc qword ptr [r11 + {went_past}]
    jmp qword ptr [r11 + {past}]
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
    qmpi_function qmpi_large_counts_stored_7
    sub rsp, 8
    .cfi_adjust_cfa_offset 8
    push qword ptr [rsp + 16]
    .cfi_adjust_cfa_offset 8
    push r11
    .cfi_adjust_cfa_offset 8
    call {stored}
    add rsp, 24
    .cfi_adjust_cfa_offset -24
    ret
    qmpi_end qmpi_large_counts_stored_7

    // The same of functions without a word on the stack: the caller's need not be readable.
    qmpi_function qmpi_large_counts_stored
    sub rsp, 16
    .cfi_adjust_cfa_offset 16
    push r11
    .cfi_adjust_cfa_offset 8
    call {stored}
    add rsp, 24
    .cfi_adjust_cfa_offset -24
    ret
    qmpi_end qmpi_large_counts_stored
.popsection

// Stubs on x86-64 that no other object finds by name (exports/stubs.rs).

// The lazy stubs: what a slot leads to until it is filled. Each runs once at most: packed.
.pushsection .text.qmpi_lazy, "ax", @progbits
    .balign 64
    .hidden qmpi_lazy
    .globl qmpi_lazy
    .type qmpi_lazy, @function
qmpi_lazy:
    .cfi_startproc
    .rept {count}
    // The return address tells which stub it was.
    call qmpi_first_call
    .byte 0xcc
    .endr
    .cfi_endproc
    .size qmpi_lazy, . - qmpi_lazy
.popsection

// One entry of .eh_frame for each of the two sections of exported stubs (LSB 10.6.1): at every instruction in them the stack pointer is where
// it was when the function was called. An entry for each of 1,600 stubs would take 50 KB, a third of the library.
.hidden __start_qmpi_entry
.hidden __stop_qmpi_entry
.hidden __start_qmpi_shifted
.pushsection .eh_frame, "a", @unwind
    .balign 8
.Lqmpi_cie:
    .long .Lqmpi_cie_end - .Lqmpi_cie_begin
.Lqmpi_cie_begin:
    .long 0
    .byte 1
    .asciz "zR"
    .uleb128 1
    .sleb128 -8
    .byte 16
    .uleb128 1
    .byte 0x1b
    // DW_CFA_def_cfa rsp + 8; DW_CFA_offset: the return address is at the CFA - 8.
    .byte 0x0c, 7, 8, 0x90, 1
    .balign 8, 0
.Lqmpi_cie_end:
.macro qmpi_fde name, start, size
    .long .Lqmpi_\name\()_end - .Lqmpi_\name\()_begin
.Lqmpi_\name\()_begin:
    .long . - .Lqmpi_cie
    .long \start - .
    .long \size
    .uleb128 0
    .balign 8, 0
.Lqmpi_\name\()_end:
.endm
    qmpi_fde entry, __start_qmpi_entry, {count} * 8
    qmpi_fde shifted, __start_qmpi_shifted, {count} * 12
.popsection

// The slots lead to the lazy stubs before any code of the process runs, also before the constructors of libraries that stand before this
// one. A relocation for each of them would take 24 bytes, 19 KB in all, of every process. Instead there is one of the type
// R_X86_64_IRELATIVE (psABI table 4.9): `ld.so` calls a function for its value while it relocates this library.
.pushsection .text.qmpi_fill_slots, "ax", @progbits
    .hidden qmpi_fill_slots
    .globl qmpi_fill_slots
    .type qmpi_fill_slots, @gnu_indirect_function
qmpi_fill_slots:
    jmp {fill_slots}
    .size qmpi_fill_slots, . - qmpi_fill_slots
.popsection
.pushsection .data.rel.ro.qmpi_slots_filled, "awR", @progbits
    .balign 8
    .quad qmpi_fill_slots
.popsection

// `core` as it comes with the compiler names this function of `std` in its unwind tables. Nothing here unwinds. Unit tests have that of `std`.
.pushsection .text.qmpi_no_unwinding, "ax", @progbits
    .hidden rust_eh_personality
    .weak rust_eh_personality
    .type rust_eh_personality, @function
rust_eh_personality:
    ud2
    .size rust_eh_personality, . - rust_eh_personality
.popsection

// The first call of a function, by its lazy stub: asks where to go, and goes there with the arguments of the call.
.pushsection .text.qmpi_first_call, "ax", @progbits
    .hidden qmpi_first_call
    .globl qmpi_first_call
    .type qmpi_first_call, @function
qmpi_first_call:
    .cfi_startproc
    // A lazy stub has called this function.
    .cfi_def_cfa_offset 16
    pop r11
    .cfi_adjust_cfa_offset -8
    qmpi_keep_arguments
    mov rdi, r11
    lea rax, [rip + qmpi_lazy]
    sub rdi, rax
    call {resolve_first_call}
    qmpi_go_on_with_arguments
    .cfi_endproc
    .size qmpi_first_call, . - qmpi_first_call
.popsection

// A name-shifted function, whose number is in `r11`: goes where the table says, which is filled in by the first call.
.pushsection .text.qmpi_call_shifted, "ax", @progbits
    .hidden qmpi_call_shifted
    .globl qmpi_call_shifted
    .type qmpi_call_shifted, @function
qmpi_call_shifted:
    .cfi_startproc
    lea r10, [rip + {shifted_functions}]
    mov r10, qword ptr [r10 + 8 * r11]
    test r10, r10
    jz 2f
    jmp r10
2:
    qmpi_keep_arguments
    mov rdi, r11
    call {resolve_shifted}
    qmpi_go_on_with_arguments
    .cfi_endproc
    .size qmpi_call_shifted, . - qmpi_call_shifted
.popsection

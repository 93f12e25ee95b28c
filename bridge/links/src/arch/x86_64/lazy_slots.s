// The block of links that are found when they are first called: `lazy_slots.rs` says what a stub is.

.pushsection .text.qmpi_lazy, "ax", @progbits
qmpi_function qmpi_lazy, {page}
    .set .Lqmpi_index, 0
    .rept {stubs}
        jmp qword ptr [rip + {rows} + {first} + 8 * .Lqmpi_index]
        mov r10d, .Lqmpi_index
        jmp .Lqmpi_lazy_tail
        .org qmpi_lazy + {stub} * (.Lqmpi_index + 1), 0xcc
        .set .Lqmpi_index, .Lqmpi_index + 1
    .endr
.Lqmpi_lazy_tail:
    lea r11, [rip + {rows}]
    jmp qword ptr [rip + {rows} + {resolver}]
qmpi_end qmpi_lazy
    .org qmpi_lazy + {code}, 0xcc
qmpi_label qmpi_lazy_end
.popsection

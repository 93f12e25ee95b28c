// The block of links that are found when they are first called: `lazy_slots.rs` says what a stub is.

.pushsection .text.qmpi_lazy, "ax", @progbits
qmpi_function qmpi_lazy, {page}
    .set .Lqmpi_index, 0
    .rept {stubs}
        adrp x16, {rows} + {first} + 8 * .Lqmpi_index
        ldr x16, [x16, :lo12:{rows} + {first} + 8 * .Lqmpi_index]
        br x16
        mov w9, .Lqmpi_index
        b .Lqmpi_lazy_tail
        nop
        .org qmpi_lazy + {stub} * (.Lqmpi_index + 1), 0
        .set .Lqmpi_index, .Lqmpi_index + 1
    .endr
.Lqmpi_lazy_tail:
    adrp x11, {rows}
    add x11, x11, :lo12:{rows}
    ldr x16, [x11, {resolver}]
    br x16
qmpi_end qmpi_lazy
    .org qmpi_lazy + {code}, 0
qmpi_label qmpi_lazy_end
.popsection

// The block of trampolines: the payload in its register, and a jump to the target, with both in rows of data.

.pushsection .text.qmpi_trampolines, "ax", @progbits
qmpi_function qmpi_trampolines, {page}
    .set .Lqmpi_row, 0
    .rept {count}
        adrp x16, {rows} + .Lqmpi_row
        add x16, x16, :lo12:{rows} + .Lqmpi_row
        ldp x17, x16, [x16]
        br x16
        .balign {size}
        .set .Lqmpi_row, .Lqmpi_row + 16
    .endr
qmpi_end qmpi_trampolines
qmpi_label qmpi_trampolines_end
.popsection

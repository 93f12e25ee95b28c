// The block of trampolines: the payload in its register, and a jump to the target, with both in rows of data.

.pushsection .text.qmpi_trampolines, "ax", @progbits
qmpi_function qmpi_trampolines, {page}
    .set .Lqmpi_row, 0
    .rept {count}
        mov r11, qword ptr [rip + {rows} + .Lqmpi_row]
        jmp qword ptr [rip + {rows} + .Lqmpi_row + 8]
        .balign {size}, 0xcc
        .set .Lqmpi_row, .Lqmpi_row + 16
    .endr
qmpi_end qmpi_trampolines
qmpi_label qmpi_trampolines_end
.popsection

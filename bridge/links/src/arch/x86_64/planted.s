// Stubs that race: each counts its calls in its row without a lock.

.pushsection .text.qmpi_racing_stubs, "ax", @progbits
    .balign {page}
qmpi_label qmpi_racing_stubs
    .set .Lqmpi_racing_row, 0
    .rept {count}
        inc qword ptr [rip + {rows} + .Lqmpi_racing_row]
        jmp qword ptr [rip + {rows} + .Lqmpi_racing_row + 8]
        .balign 16, 0xcc
        .set .Lqmpi_racing_row, .Lqmpi_racing_row + 16
    .endr
qmpi_label qmpi_racing_stubs_end
    .size qmpi_racing_stubs, . - qmpi_racing_stubs
.popsection

// Stubs that lead into a layer that can be switched off, or past it.

.pushsection .text.qmpi_switches, "ax", @progbits
qmpi_function qmpi_switches, {page}
    .set .Lqmpi_switch_row, 0
    .rept {count}
        adrp x16, {rows} + .Lqmpi_switch_row
        add x16, x16, :lo12:{rows} + .Lqmpi_switch_row
        ldr x17, [x16]
        ldr w17, [x17]
        cbnz w17, 2f
        ldr x16, [x16, 8]
        br x16
2:
        ldr x16, [x16, 16]
        br x16
        .balign {size}
        .set .Lqmpi_switch_row, .Lqmpi_switch_row + {row}
    .endr
qmpi_end qmpi_switches
qmpi_label qmpi_switches_end
.popsection

.pushsection .text.qmpi_switch, "ax", @progbits
// A call that starts a request goes into the layer: its bit is cleared.
qmpi_function qmpi_switch_into
    adrp x9, {past}
    ldr x9, [x9, :lo12:{past}]
    mrs x10, tpidr_el0
    ldr x11, [x17, {bits}]
    ldr x12, [x10, x9]
    and x12, x12, x11
    str x12, [x10, x9]
    ldr x16, [x17, {target}]
    br x16
qmpi_end qmpi_switch_into

// It goes past the layer: the bit is set.
qmpi_function qmpi_switch_past
    adrp x9, {past}
    ldr x9, [x9, :lo12:{past}]
    mrs x10, tpidr_el0
    ldr x11, [x17, {bits}]
    ldr x12, [x10, x9]
    orr x12, x12, x11
    str x12, [x10, x9]
    ldr x16, [x17, {target}]
    br x16
qmpi_end qmpi_switch_past

// A function that takes requests, of a layer that is on: as long as no request was started past a layer, it goes there.
qmpi_function qmpi_switch_taking_on
    adrp x9, {requests}
    ldr x9, [x9, :lo12:{requests}]
    cbnz x9, 2f
    ldr x16, [x17, {on}]
    br x16
2:
    b qmpi_taking_on
qmpi_end qmpi_switch_taking_on

qmpi_function qmpi_taking_on
    qmpi_decide {decide_on}
qmpi_end qmpi_taking_on

// The same of a layer that is off.
qmpi_function qmpi_switch_taking_off
    qmpi_decide {decide_off}
qmpi_end qmpi_switch_taking_off
.popsection

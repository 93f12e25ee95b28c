// Stubs that lead into a layer that can be switched off, or past it.

.pushsection .text.qmpi_switches, "ax", @progbits
qmpi_function qmpi_switches, {page}
    .set .Lqmpi_switch_row, 0
    .rept {count}
        mov r11, qword ptr [rip + {rows} + .Lqmpi_switch_row]
        cmp dword ptr [r11], 0
        jne 2f
        jmp qword ptr [rip + {rows} + .Lqmpi_switch_row + 8]
2:
        jmp qword ptr [rip + {rows} + .Lqmpi_switch_row + 16]
        .balign {size}, 0xcc
        .set .Lqmpi_switch_row, .Lqmpi_switch_row + {row}
    .endr
qmpi_end qmpi_switches
qmpi_label qmpi_switches_end
.popsection

.pushsection .text.qmpi_switch, "ax", @progbits
// A call that starts a request goes into the layer: its bit is cleared. The function is not variadic, so rax is free.
qmpi_function qmpi_switch_into
    mov r10, qword ptr [rip + {past}]
    mov rax, qword ptr [r11 + {bits}]
    and qword ptr fs:[r10], rax
    jmp qword ptr [r11 + {target}]
qmpi_end qmpi_switch_into

// It goes past the layer: the bit is set.
qmpi_function qmpi_switch_past
    mov r10, qword ptr [rip + {past}]
    mov rax, qword ptr [r11 + {bits}]
    or qword ptr fs:[r10], rax
    jmp qword ptr [r11 + {target}]
qmpi_end qmpi_switch_past

// A function that takes requests, of a layer that is on: as long as no request was started past a layer, it goes there.
qmpi_function qmpi_switch_taking_on
    cmp qword ptr [rip + {requests}], 0
    jne 2f
    jmp qword ptr [r11 + {on}]
2:
    jmp qmpi_taking_on
qmpi_end qmpi_switch_taking_on

qmpi_function qmpi_taking_on
    qmpi_decide {decide_on}
qmpi_end qmpi_taking_on

// The same of a layer that is off.
qmpi_function qmpi_switch_taking_off
    qmpi_decide {decide_off}
qmpi_end qmpi_switch_taking_off
.popsection

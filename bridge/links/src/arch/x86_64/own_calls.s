// Stubs of a layer whose own calls are hidden. All arguments, the stack and its return address stay as they are; both end in a jump.
//
//     records  +0   bytes to the topmost record, 0 without one
//              +8   the largest number: a place above all others
//              +24  record 1: key, place of the return address, the return address
//              +48  record 2: ...

.pushsection .text.qmpi_own_calls, "ax", @progbits
// The layer above calls a wrapper: r11 is an `EnteredEntry`.
qmpi_function qmpi_own_entry
    mov r10, qword ptr [rip + {offset}]
    add r10, qword ptr fs:[r10]
    cmp qword ptr fs:[r10 + {place}], rsp
    ja 3f
    // The topmost is over. If the one below is not, its place is free.
    cmp qword ptr fs:[r10 + {place} - {record}], rsp
    jbe 5f
2:
    push qword ptr [r11 + {entry_key}]
    .cfi_adjust_cfa_offset 8
    pop qword ptr fs:[r10 + {key}]
    .cfi_adjust_cfa_offset -8
    mov qword ptr fs:[r10 + {place}], rsp
    pop qword ptr fs:[r10 + {return_address}]
    .cfi_adjust_cfa_offset -8
    push qword ptr fs:[r10 + {return_address}]
    .cfi_adjust_cfa_offset 8
    jmp qword ptr [r11 + {wrapper}]
3:
    cmp r10, qword ptr [rip + {last}]
    jae 6f
    add r10, {record}
4:
    push r11
    .cfi_adjust_cfa_offset 8
    mov r11, qword ptr [rip + {offset}]
    sub r10, r11
    mov qword ptr fs:[r11], r10
    add r10, r11
    pop r11
    .cfi_adjust_cfa_offset -8
    jmp 2b
5:
    sub r10, {record}
    cmp qword ptr fs:[r10 + {place} - {record}], rsp
    jbe 5b
    jmp 4b
6:
    qmpi_keep_arguments
    mov rdi, r11
    lea rsi, [rbp + 8]
    mov rdx, [rsi]
    call {enter}
    qmpi_go_on_with_arguments
qmpi_end qmpi_own_entry

// The layer calls `PMPI_f`: r11 is a `CalledLink`.
qmpi_function qmpi_own_link
    mov r10, qword ptr [rip + {offset}]
    add r10, qword ptr fs:[r10]
1:
    // A wrapper that ends in a jump to `PMPI_f` has the stack pointer of its record.
    cmp qword ptr fs:[r10 + {place}], rsp
    jae 2f
    sub r10, {record}
    jmp 1b
2:
    push rax
    .cfi_adjust_cfa_offset 8
    // Records just below the stack pointer are over, and go: deeper calls would cover their places, perhaps without writing there.
    mov rax, qword ptr [rip + {offset}]
    add rax, qword ptr fs:[rax]
    cmp rax, r10
    je 7f
    mov rax, qword ptr fs:[rax + {place}]
    sub rax, rsp
    cmp rax, -{below}
    jl 7f
    push r11
    .cfi_adjust_cfa_offset 8
    mov rax, r10
    mov r11, qword ptr [rip + {offset}]
    sub rax, r11
    mov qword ptr fs:[r11], rax
    pop r11
    .cfi_adjust_cfa_offset -8
7:
    mov rax, qword ptr fs:[r10 + {place}]
    sub rax, rsp
    cmp rax, {near}
    ja 4f
    mov rax, qword ptr [rsp + rax]
    cmp rax, qword ptr fs:[r10 + {return_address}]
    jne 4f
    mov rax, qword ptr fs:[r10 + {key}]
    xor rax, qword ptr [r11 + {link_key}]
    jnz 3f
    .cfi_remember_state
    pop rax
    .cfi_adjust_cfa_offset -8
    jmp qword ptr [r11 + {next}]
3:
    .cfi_restore_state
    shr rax, 32
    jnz 4f
    .cfi_remember_state
    pop rax
    .cfi_adjust_cfa_offset -8
    jmp qword ptr [r11 + {library}]
4:
    .cfi_restore_state
    pop rax
    .cfi_adjust_cfa_offset -8
    qmpi_keep_arguments
    mov rdi, r11
    lea rsi, [rbp + 8]
    call {decide}
    qmpi_go_on_with_arguments
qmpi_end qmpi_own_link
.popsection

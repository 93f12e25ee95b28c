// Stubs that keep the application's return address across PMPI tools, or look it up.
//
// With the address goes a *witness*: a place on the stack that holds a return address as long as the recorded call is under way. Where
// it does not any more (the tool was called past the stub, or called back from below), the record is stale, and the
// caller of the stub is the next best answer.
//
// Calls nest: MPI calls back into the application (a reduction's operation, an attribute's destructor), which calls MPI. So
// the records are a stack. Adding one takes away those whose calls are over; a look-up takes the topmost whose call is not. A record more
// than there is room for takes the place of the last.
//
// The records are a thread-local variable of the library that is in the process from the start (`ring/src/arch/thread_storage.s`),
// found by its offset from the thread pointer.

// r10 is where the topmost record is, less 8.
.macro qmpi_top_record
    mov r10, qword ptr [rip + {caller_offset}]
    add r10, qword ptr fs:[r10]
.endm

// The zero flag says whether the record's call is still under way. It lies above, and not far: a stack that it was on
// may be gone by now.
.macro qmpi_is_under_way scratch
    mov \scratch, qword ptr fs:[r10 + 16]
    sub \scratch, rsp
    cmp \scratch, {call_distance}
    // `ja` comes with the zero flag clear.
    ja 1f
    mov \scratch, qword ptr [rsp + \scratch]
    cmp \scratch, qword ptr fs:[r10 + 24]
1:
.endm

// A new record but for its context, and r10 for it. What is on top of the stack is the witness, so the caller must have
// made a call, not a jump. No other register is free.
.macro qmpi_record_witness
    mov r10, qword ptr [rip + {caller_offset}]
    cmp qword ptr fs:[r10], 0
    jne 2f
    // At the same depth as the last call, or less deep: that one is over.
    cmp qword ptr fs:[r10 + 16], rsp
    jbe 8f
2:
    push rax
    .cfi_adjust_cfa_offset 8
    push r11
    .cfi_adjust_cfa_offset 8
    mov r11, r10
    add r10, qword ptr fs:[r11]
3:
    lea rax, [rsp + 16]
    cmp qword ptr fs:[r10 + 16], rax
    jbe 4f
    qmpi_is_under_way rax
    je 5f
4:
    // It is over: down to the one below, whose place is free if this is over, too.
    cmp r10, r11
    je 7f
    sub r10, {record}
    jmp 3b
5:
    lea rax, [r11 + {records} - {record}]
    cmp r10, rax
    jae 7f
    add r10, {record}
7:
    mov rax, r10
    sub rax, r11
    mov qword ptr fs:[r11], rax
    pop r11
    .cfi_adjust_cfa_offset -8
    pop rax
    .cfi_adjust_cfa_offset -8
8:
    mov qword ptr fs:[r10 + 16], rsp
    pop qword ptr fs:[r10 + 24]
    .cfi_adjust_cfa_offset -8
    push qword ptr fs:[r10 + 24]
    .cfi_adjust_cfa_offset 8
.endm

// A new record of the return address.
.macro qmpi_record_return
    qmpi_record_witness
    pop qword ptr fs:[r10 + 8]
    .cfi_adjust_cfa_offset -8
    push qword ptr fs:[r10 + 8]
    .cfi_adjust_cfa_offset 8
.endm

// The same of a context that came down in rdi: a record of it that still holds has the better witness, one further up.
.macro qmpi_record_context
    qmpi_top_record
    cmp rdi, qword ptr fs:[r10 + 8]
    jne 6f
    push rax
    .cfi_adjust_cfa_offset 8
    qmpi_is_under_way rax
    // Leaves the flags.
    pop rax
    .cfi_adjust_cfa_offset -8
    je 9f
6:
    qmpi_record_witness
    mov qword ptr fs:[r10 + 8], rdi
9:
.endm

// The context of the topmost record whose call is under way, in rdi; to `none` if there is none.
.macro qmpi_recall none
    qmpi_top_record
2:
    qmpi_is_under_way rdi
    jne 3f
    mov rdi, qword ptr fs:[r10 + 8]
    test rdi, rdi
    jnz 4f
3:
    // What lies before a record is the return address in the one below; before the first, a small number.
    cmp qword ptr fs:[r10], {records}
    jb \none
    sub r10, {record}
    jmp 2b
4:
.endm

// An exported function of MPI: one jump by its slot.
// 8 bytes, so that none crosses a cache line. The caller's return address and all arguments stay as they are.
    jmp qword ptr [rip + {slots} + 8 * {id}]
    .balign 8, 0xcc

//! What the program, and a tool that wraps `dlopen` for the program, reach under the name `dlopen`.

use std::arch::naked_asm;

use crate::stand_ins;

/// `dlopen(file, mode)` of the program: with the file that [`stand_ins::show`] returns on to the process's, which still sees the program as
/// its caller.
#[unsafe(naked)]
pub(crate) extern "C" fn dlopen_of_program() {
    naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, -32]!",
        ".cfi_def_cfa_offset 32",
        ".cfi_offset x29, -32",
        ".cfi_offset x30, -24",
        "mov x29, sp",
        "str x1, [sp, 16]",
        "bl {show}",
        "ldr x1, [sp, 16]",
        "ldp x29, x30, [sp], 32",
        ".cfi_def_cfa_offset 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "adrp x16, :got:{real}",
        "ldr x16, [x16, :got_lo12:{real}]",
        "br x16",
        ".cfi_endproc",
        show = sym stand_ins::show,
        real = sym libc::dlopen,
    )
}

/// `dlopen(file, mode)` as a tool that wraps it goes on to it, for the program. `ld.so` opens the file in the namespace of whoever it returns
/// to: where that is the tool, this function calls in its place; where the wrapper has jumped here, the program stays the caller.
#[unsafe(naked)]
pub(crate) extern "C" fn next_dlopen() {
    naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, -32]!",
        ".cfi_def_cfa_offset 32",
        ".cfi_offset x29, -32",
        ".cfi_offset x30, -24",
        "mov x29, sp",
        "str x1, [sp, 16]",
        "mov x1, x30",
        "bl {goes_on}",
        "mov x2, x1",
        "ldr x1, [sp, 16]",
        "adrp x16, :got:{real}",
        "ldr x16, [x16, :got_lo12:{real}]",
        "cbnz x2, 2f",
        "blr x16",
        "ldp x29, x30, [sp], 32",
        ".cfi_remember_state",
        ".cfi_def_cfa_offset 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "ret",
        "2:",
        ".cfi_restore_state",
        "ldp x29, x30, [sp], 32",
        ".cfi_def_cfa_offset 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "br x16",
        ".cfi_endproc",
        goes_on = sym stand_ins::goes_on,
        real = sym libc::dlopen,
    )
}

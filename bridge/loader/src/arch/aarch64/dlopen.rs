//! What a tool reaches under the name `dlopen`: see [`crate::overrides`]. The other overrides are in `qmpi_overrides::arch`. And what the
//! program reaches under it.

use std::arch::naked_asm;

use crate::{overrides, stand_ins};

/// `dlopen(file, mode)` of a tool: [`overrides::dlopen::prepare`] returns both arguments anew.
#[unsafe(naked)]
pub(crate) extern "C" fn dlopen() {
    naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, -16]!",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "mov x29, sp",
        "mov x2, x17",
        "mov x3, x30",
        "bl {prepare}",
        "ldp x29, x30, [sp], 16",
        ".cfi_def_cfa_offset 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "adrp x16, :got:{real}",
        "ldr x16, [x16, :got_lo12:{real}]",
        "br x16",
        ".cfi_endproc",
        prepare = sym overrides::dlopen::prepare,
        real = sym libc::dlopen,
    )
}

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

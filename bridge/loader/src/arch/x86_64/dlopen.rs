//! What a tool reaches under the name `dlopen`: see [`crate::overrides`]. The other overrides are in `qmpi_overrides::arch`. And what the
//! program reaches under it.

use std::arch::naked_asm;

use crate::{overrides, stand_ins};

/// `dlopen(file, mode)` of a tool: [`overrides::dlopen::prepare`] returns both arguments anew.
#[unsafe(naked)]
pub(crate) extern "C" fn dlopen() {
    naked_asm!(
        ".cfi_startproc",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "mov rdx, r11",
        "mov rcx, qword ptr [rsp + 8]",
        "call {prepare}",
        "mov rdi, rax",
        "mov rsi, rdx",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "jmp qword ptr [rip + {real}@GOTPCREL]",
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
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "call {show}",
        "mov rdi, rax",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "jmp qword ptr [rip + {real}@GOTPCREL]",
        ".cfi_endproc",
        show = sym stand_ins::show,
        real = sym libc::dlopen,
    )
}

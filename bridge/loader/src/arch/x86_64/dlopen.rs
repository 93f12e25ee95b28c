//! What a tool reaches under the name `dlopen`: see [`crate::overrides`]. The other overrides are in `qmpi_overrides::arch`.

use std::arch::naked_asm;

use crate::overrides;

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

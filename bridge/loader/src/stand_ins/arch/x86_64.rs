//! What the program, and a tool that wraps `dlopen` for the program, reach under the name `dlopen`.

use std::arch::naked_asm;

use crate::stand_ins;

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

/// `dlopen(file, mode)` as a tool that wraps it goes on to it, for the program. `ld.so` opens the file in the namespace of whoever it returns
/// to: where that is the tool, this function calls in its place; where the wrapper has jumped here, the program stays the caller.
#[unsafe(naked)]
pub(crate) extern "C" fn next_dlopen() {
    naked_asm!(
        ".cfi_startproc",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "mov rsi, qword ptr [rsp + 8]",
        "call {goes_on}",
        "mov rdi, rax",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "test rdx, rdx",
        "jne 2f",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call qword ptr [rip + {real}@GOTPCREL]",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "ret",
        "2:",
        "jmp qword ptr [rip + {real}@GOTPCREL]",
        ".cfi_endproc",
        goes_on = sym stand_ins::goes_on,
        real = sym libc::dlopen,
    )
}

//! Thread-local variables of the program, for tools in namespaces: see [`crate::namespace::thread_local`].
#![expect(unsafe_code, reason = "reads the thread pointer")]

use std::arch::{asm, naked_asm};

/// The function of a descriptor whose second word is the offset from the thread pointer (`_dl_tlsdesc_return` of glibc: `rax` is the
/// descriptor, and all other registers stay).
#[unsafe(naked)]
pub(crate) extern "C" fn descriptor() {
    naked_asm!(".cfi_startproc", "mov rax, qword ptr [rax + 8]", "ret", ".cfi_endproc")
}

/// The thread pointer.
pub(crate) fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: the thread control block begins with its own address (psABI 3.4.2).
    unsafe { asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly, preserves_flags)) };
    pointer
}

//! Thread-local variables of the program, for tools in namespaces: see [`crate::namespace::thread_local`].

use std::arch::naked_asm;

/// The function of a descriptor whose second word is the offset from the thread pointer (`_dl_tlsdesc_return` of glibc: `rax` is the
/// descriptor, and all other registers stay).
#[unsafe(naked)]
pub(crate) extern "C" fn descriptor() {
    naked_asm!(".cfi_startproc", "mov rax, qword ptr [rax + 8]", "ret", ".cfi_endproc")
}

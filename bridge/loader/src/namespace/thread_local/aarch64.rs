//! Thread-local variables of the program, for tools in namespaces: see [`crate::namespace::thread_local`].

use std::arch::naked_asm;

/// The function of a descriptor whose second word is the offset from the thread pointer (`_dl_tlsdesc_return` of glibc: `x0` is the
/// descriptor, then the offset, and all other registers stay).
#[unsafe(naked)]
pub(crate) extern "C" fn descriptor() {
    naked_asm!(".cfi_startproc", "ldr x0, [x0, 8]", "ret", ".cfi_endproc")
}

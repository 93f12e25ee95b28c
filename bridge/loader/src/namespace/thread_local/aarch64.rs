//! Thread-local variables of the program, for tools in namespaces: see [`crate::namespace::thread_local`].
#![expect(unsafe_code, reason = "reads the thread pointer")]

use std::arch::{asm, naked_asm};

/// The function of a descriptor whose second word is the offset from the thread pointer (`_dl_tlsdesc_return` of glibc: `x0` is the
/// descriptor, then the offset, and all other registers stay).
#[unsafe(naked)]
pub(crate) extern "C" fn descriptor() {
    naked_asm!(".cfi_startproc", "ldr x0, [x0, 8]", "ret", ".cfi_endproc")
}

/// The thread pointer.
pub(crate) fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: a register that holds it (AAPCS64 6.1.4).
    unsafe { asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nostack, nomem, preserves_flags)) };
    pointer
}

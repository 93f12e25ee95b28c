//! Machine code for AArch64: trampolines, and the shims and stubs they lead to.
//!
//! No code is written at run time; a trampoline is made by filling in a row of data.
//!
//! | register | at a shim's entry |
//! |---|---|
//! | `x17` | the trampoline's payload (AAPCS64 6.1.1 lets a linkage stub use it, and `x16`, by which the shim is reached) |
//! | `x0`-`x7`, stack, `x8`, `q0`-`q7` | the arguments, untouched |
//! | `x30` | the return address in the caller, which a tail jump keeps; it is not signed yet |
//! | `x9`-`x15` | free |
//!
//! Every function carries its own CFI, so that a back trace and a signal-driven profiler find the way through. What a file is for is said in
//! `arch/x86_64.rs`; docs/maintainers/decisions/aarch64.md says what differs.

mod caller;
mod fortran;
#[cfg(test)]
pub(crate) mod in_tests;
mod lazy;
mod links;
mod look_ups;
mod numbered;
mod own_calls;
mod publication;
mod requests;
mod shift;
mod stack_words;
mod switch;
mod trampoline;

pub(crate) use fortran::*;
pub(crate) use lazy::*;
pub(crate) use links::*;
pub(crate) use look_ups::*;
pub(crate) use numbered::*;
pub(crate) use own_calls::*;
pub use publication::publish_stubs;
pub(crate) use requests::*;
pub(crate) use switch::*;
pub use trampoline::*;

/// Bytes of the largest page that Linux has here (4, 16 or 64 KB): what starts and ends at multiples of it can be mapped everywhere.
pub(crate) const PAGE: usize = 0x1_0000;

/// Bytes of a page of this system.
pub fn page_size() -> usize {
    #![expect(unsafe_code, reason = "a question to the system")]
    // SAFETY: no requirements.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(PAGE)
}

/// Bytes of the smallest page: what lies in one of these lies in one page everywhere.
pub(crate) const SMALLEST_PAGE: usize = 0x1000;

/// Words that are passed in registers (AAPCS64 6.8.2).
pub(crate) const ARGUMENT_REGISTERS: usize = 8;

/// The thread pointer.
pub fn thread_pointer() -> usize {
    #![expect(unsafe_code, reason = "reads the thread pointer")]
    let pointer: usize;
    // SAFETY: a register that holds it (AAPCS64 6.1.4).
    unsafe { std::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nostack, nomem, preserves_flags)) };
    pointer
}

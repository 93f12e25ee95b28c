//! Stubs of a layer whose own calls are hidden: what they are for is in [`crate::own_calls`].
//!
//! Both leave all arguments, the stack and its return address as they are, and end in a jump. What is decided is decided in Rust: whether a
//! recorded call is under way is not to be seen from one word here (`caller.rs`).
#![expect(unsafe_code, reason = "machine code behind trampolines")]

use std::arch::naked_asm;

pub(crate) use super::caller::is_under_way;
use super::{SMALLEST_PAGE, Stub, thread_pointer};
use crate::own_calls::{EnteredEntry, EnteredWrappers, decide, enter_at};

/// Into a wrapper: see [`EnteredEntry`].
pub(crate) fn own_entry() -> Stub {
    qmpi_own_entry
}

/// Out of a layer: see [`crate::own_calls::CalledLink`].
pub(crate) fn own_link() -> Stub {
    qmpi_own_link
}

/// The layer above calls a wrapper: `x17` is its `Entry`.
#[unsafe(naked)]
extern "C" fn qmpi_own_entry() {
    naked_asm!(
        ".cfi_startproc",
        qmpi_ring::keep_arguments!(),
        "mov x0, x17",
        "add x1, x29, 224",
        "mov x2, x30",
        "bl {entered}",
        qmpi_ring::go_on_with_arguments!(),
        ".cfi_endproc",
        entered = sym entered,
    )
}

/// The layer calls `PMPI_f`: `x17` is a `Link`.
#[unsafe(naked)]
extern "C" fn qmpi_own_link() {
    naked_asm!(
        ".cfi_startproc",
        qmpi_ring::keep_arguments!(),
        "mov x0, x17",
        "add x1, x29, 224",
        "bl {decide}",
        qmpi_ring::go_on_with_arguments!(),
        ".cfi_endproc",
        decide = sym decide,
    )
}

extern "C" fn entered(entry: &EnteredEntry, stack: usize, return_address: usize) -> usize {
    enter_at(entry, stack, return_address)
}

/// The records of this thread.
pub(crate) fn own_records() -> *mut EnteredWrappers {
    let offset = crate::thread_offsets::OWN_CALLS.load(std::sync::atomic::Ordering::Relaxed);
    std::ptr::with_exposed_provenance_mut(thread_pointer().wrapping_add(offset))
}

/// Can the word at `address` be read? `stack` is the stack pointer.
///
/// `rt_sigprocmask` copies the new mask from user space before it looks at `how`, so an invalid `how` changes nothing and the error is
/// EFAULT or EINVAL (Linux: kernel/signal.c). It is async-signal-safe; `errno` stays as it is.
pub(crate) fn can_be_read(address: usize, stack: usize) -> bool {
    if address / SMALLEST_PAGE == stack / SMALLEST_PAGE {
        return true;
    }
    let result: isize;
    // SAFETY: the kernel reads a word, or refuses to; no other memory and no mask is changed.
    unsafe {
        std::arch::asm!(
            "svc 0",
            in("x8") libc::SYS_rt_sigprocmask,
            inlateout("x0") -1isize => result,
            in("x1") address,
            in("x2") 0usize,
            in("x3") size_of::<u64>(),
            options(nostack, readonly),
        )
    };
    result != -(libc::EFAULT as isize)
}

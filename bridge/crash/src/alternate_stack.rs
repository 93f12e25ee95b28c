//! A stack of its own for handlers: a thread that has used up its stack has no room for one.
#![expect(unsafe_code, reason = "mmap and sigaltstack")]

use core::ffi::c_void;
use core::ptr::null_mut;

use crate::arch::PAGE;

/// Room for handlers of the process, too, which run here as well. Memory that is not touched costs nothing.
pub(crate) const SIZE: usize = 1 << 20;

/// Maps one with a guard page below it; null if there is no memory.
pub(crate) fn map() -> *mut c_void {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
    // SAFETY: new memory, wherever there is room.
    let memory = unsafe { libc::mmap(null_mut(), SIZE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if memory == libc::MAP_FAILED {
        return null_mut();
    }
    // SAFETY: the first page of what was just mapped, and of which nobody knows.
    unsafe { libc::mprotect(memory, PAGE, libc::PROT_NONE) };
    memory
}

/// Unmaps one.
pub(crate) fn unmap(memory: *mut c_void) {
    // SAFETY: it was mapped by `map`, and no thread uses it.
    unsafe { libc::munmap(memory, SIZE) };
}

/// Gives it to the calling thread, unless that has one.
pub(crate) fn give(memory: *mut c_void) {
    let mut known = libc::stack_t { ss_sp: null_mut(), ss_flags: 0, ss_size: 0 };
    // SAFETY: asks only.
    let failed = unsafe { libc::sigaltstack(core::ptr::null(), &raw mut known) } != 0;
    if failed || known.ss_flags & libc::SS_DISABLE == 0 {
        return;
    }
    // SAFETY: behind the guard page, inside of the mapping.
    let first = unsafe { memory.byte_add(PAGE) };
    let stack = libc::stack_t { ss_sp: first, ss_flags: 0, ss_size: SIZE - PAGE };
    // SAFETY: the memory is the thread's until it ends.
    unsafe { libc::sigaltstack(&raw const stack, null_mut()) };
}

/// Takes it from the calling thread, if that still has it.
pub(crate) fn take_back(memory: *mut c_void) {
    let mut known = libc::stack_t { ss_sp: null_mut(), ss_flags: 0, ss_size: 0 };
    // SAFETY: asks only.
    unsafe { libc::sigaltstack(core::ptr::null(), &raw mut known) };
    if known.ss_sp.addr() == memory.addr() + PAGE {
        let none = libc::stack_t { ss_sp: null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        // SAFETY: no handler runs on it.
        unsafe { libc::sigaltstack(&raw const none, null_mut()) };
    }
}

/// The thread of the constructors.
pub(crate) fn give_to_first_thread() {
    let memory = map();
    if !memory.is_null() {
        give(memory);
    }
}

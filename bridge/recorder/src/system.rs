//! What the recorder asks of the operating system besides `qmpi-system`: the time-stamp counter, memory, handlers, messages.
#![expect(unsafe_code, reason = "system calls, and an instruction")]

use std::ffi::c_int;
use std::io::{self, Write};

/// The time-stamp counter.
#[inline]
pub(crate) fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 has the instruction.
        unsafe { std::arch::x86_64::_rdtsc() }
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ticks;
        // SAFETY: Linux lets programs read the counter.
        unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags)) };
        ticks
    }
}

/// Has this thread of the process ended?
pub(crate) fn has_ended(thread: c_int) -> bool {
    // SAFETY: signal 0 only asks whether the thread is there.
    let code = unsafe { libc::syscall(libc::SYS_tgkill, std::process::id(), thread, 0) };
    code != 0
}

/// Does something, and leaves `errno` as it was: the caller is about to call MPI for the program.
pub(crate) fn keep_errno<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: returns the address of the thread's variable.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: the thread's variable.
    let before = unsafe { place.read() };
    let done = work();
    // SAFETY: the thread's variable.
    unsafe { place.write(before) };
    done
}

/// Memory that is zero, and that the kernel takes nothing for until it is written to; null: there is none.
pub(crate) fn map_memory(bytes: usize) -> *mut libc::c_void {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: new addresses, chosen by the kernel.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags | libc::MAP_NORESERVE, -1, 0) };
    if memory == libc::MAP_FAILED { std::ptr::null_mut() } else { memory }
}

unsafe extern "C" {
    /// Of the C library, in the part that is linked statically.
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
}

/// Has each child by `fork` call `handler` before anything else runs in it.
pub(crate) fn in_child(handler: extern "C" fn()) {
    // SAFETY: the library is never unloaded, so the handler stays callable.
    unsafe { pthread_atfork(None, None, Some(handler)) };
}

/// Has `handler` be called when the process ends.
pub(crate) fn at_exit(handler: extern "C" fn()) {
    // SAFETY: the library is never unloaded, so the handler stays callable.
    unsafe { libc::atexit(handler) };
}

/// Prints a line as the runtime prints its own.
pub(crate) fn say(text: &str) {
    // There is no reader left if stderr is closed.
    let _ = io::stderr().write_all(format!("qmpi: {}\n", text.replace('\n', " ")).as_bytes());
}

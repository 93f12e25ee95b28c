//! Clocks, limits and messages of the operating system.
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

/// Nanoseconds since 1970, read without `std`: on the path of calls.
pub(crate) fn nanoseconds() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a variable for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// The calling thread, as the kernel numbers it. glibc has `gettid` since 2.30, and this library runs from 2.28 on.
pub(crate) fn thread() -> c_int {
    // SAFETY: takes no arguments and returns a number.
    let number = unsafe { libc::syscall(libc::SYS_gettid) };
    number as c_int
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

/// How many bytes a file of this process may have (`ulimit -f`): a write past it is a signal that ends the process (setrlimit(2)).
pub(crate) fn largest_file() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: a variable of that type; the call cannot fail otherwise.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    limit.rlim_cur
}

/// May a file of this process become so long?
///
/// # Errors
/// [`io::ErrorKind::FileTooLarge`], with both numbers.
pub(crate) fn check_file_size(bytes: u64) -> io::Result<()> {
    let most = largest_file();
    if bytes <= most {
        return Ok(());
    }
    let text = format!("{bytes} bytes are needed, and a file may have {most} here (ulimit -f)");
    Err(io::Error::new(io::ErrorKind::FileTooLarge, text))
}

/// Prints a line as the runtime prints its own.
pub(crate) fn say(text: &str) {
    // There is no reader left if stderr is closed.
    let _ = io::stderr().write_all(format!("qmpi: {}\n", text.replace('\n', " ")).as_bytes());
}

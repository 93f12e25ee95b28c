//! What the recorder asks of the operating system besides `qmpi-system`: the time-stamp counter, memory, files, handlers.
#![expect(unsafe_code, reason = "system calls, and an instruction")]

use std::ffi::{CStr, c_int};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr;

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
    // SAFETY: takes nothing and returns the address of this thread's `errno`.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: the address of this thread's `errno`, which is there as long as the thread.
    let before = unsafe { place.read() };
    let done = work();
    // SAFETY: the address of this thread's `errno`, which is there as long as the thread.
    unsafe { place.write(before) };
    done
}

/// Opens a file to read and write it. Allocates nothing, which `std` does for a long path.
pub(crate) fn open(path: &CStr, flags: c_int) -> Option<File> {
    // SAFETY: `path` is a C string, which the call only reads.
    let file = unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC | flags, 0o666) };
    // SAFETY: the descriptor was opened just now, and nothing else owns it.
    (file >= 0).then(|| unsafe { File::from_raw_fd(file) })
}

/// Memory that is zero, and that the kernel takes nothing for until it is written to; null: there is none.
pub(crate) fn map_memory(bytes: usize) -> *mut u8 {
    // SAFETY: the place is null, so the kernel chooses new addresses and replaces nothing.
    unsafe { map(ptr::null_mut(), bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1, 0) }
}

/// Maps bytes of a file, where the kernel chooses, or in place of the memory at `place`; null: it does not.
///
/// # Safety
/// The caller owns so many bytes at `place`, or it is null.
pub(crate) unsafe fn map_file(file: &File, offset: u64, bytes: usize, place: *mut u8) -> *mut u8 {
    /// `MADV_POPULATE_WRITE` of Linux 5.14: older ones refuse it, and pages come one by one.
    const POPULATE_WRITE: c_int = 23;
    /// Pages behind these come one by one.
    const POPULATED: usize = 1 << 20;
    let flags = libc::MAP_SHARED | if place.is_null() { 0 } else { libc::MAP_FIXED };
    // SAFETY: the caller owns the bytes at `place`, or it is null and the kernel chooses new addresses.
    let memory = unsafe { map(place, bytes, flags, file.as_raw_fd(), offset.cast_signed()) };
    if !memory.is_null() {
        // SAFETY: the bytes were mapped just now, and the call only asks for their pages.
        unsafe { libc::madvise(memory.cast(), bytes.min(POPULATED), POPULATE_WRITE) };
    }
    memory
}

/// Puts memory that is zero in place of what is mapped at `place`, if the kernel has some.
///
/// # Safety
/// The caller owns so many bytes there.
pub(crate) unsafe fn map_over(place: *mut u8, bytes: usize) {
    // SAFETY: the caller owns the bytes at `place`.
    unsafe { map(place, bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED, -1, 0) };
}

unsafe fn map(place: *mut u8, bytes: usize, flags: c_int, file: c_int, offset: i64) -> *mut u8 {
    // SAFETY: the caller owns what is replaced, if something is.
    let memory = unsafe { libc::mmap(place.cast(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, file, offset) };
    if memory == libc::MAP_FAILED { ptr::null_mut() } else { memory.cast() }
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

/// Has `handler` called when the process ends.
pub(crate) fn at_exit(handler: extern "C" fn()) {
    // SAFETY: the library is never unloaded, so the handler stays callable.
    unsafe { libc::atexit(handler) };
}

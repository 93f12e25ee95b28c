//! The number by which the kernel knows a thread.
#![expect(unsafe_code, reason = "a system call")]

/// That of the calling thread. glibc has `gettid` since 2.30, and this library runs from 2.28 on.
pub fn number() -> libc::pid_t {
    // SAFETY: takes no arguments and returns a number.
    let number = unsafe { libc::syscall(libc::SYS_gettid) };
    number as libc::pid_t
}

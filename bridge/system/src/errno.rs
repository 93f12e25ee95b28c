//! `errno` of the program's thread, which what libqmpi does before and after a call of MPI leaves as it was.
#![expect(unsafe_code, reason = "the thread's variable")]

/// Does something, and has `errno` be as it was before.
pub fn kept<T>(work: impl FnOnce() -> T) -> T {
    let before = get();
    let done = work();
    // SAFETY: the thread's variable.
    unsafe { place().write(before) };
    done
}

/// The error of the last system call that failed.
pub fn get() -> libc::c_int {
    // SAFETY: the thread's variable.
    unsafe { place().read() }
}

fn place() -> *mut libc::c_int {
    // SAFETY: no requirements.
    unsafe { libc::__errno_location() }
}

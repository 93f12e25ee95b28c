//! A handler that ends the process itself: the crash is reported before.
#![expect(unsafe_code, reason = "stands for functions that end the process")]

use core::ffi::c_int;
use core::mem::transmute;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::{handler, threads};

type Exit = unsafe extern "C" fn(c_int) -> !;

/// The next `exit`.
static EXIT: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn find() {
    EXIT.store(threads::next(c"exit"), Ordering::Relaxed);
}

/// # Safety
/// As of exit(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn exit(status: c_int) -> ! {
    handler::process_ends();
    let exit = match EXIT.load(Ordering::Relaxed) {
        0 => threads::next(c"exit"),
        exit => exit,
    };
    // SAFETY: a function of this name has this type.
    let exit = unsafe { transmute::<usize, Exit>(exit) };
    // SAFETY: the caller's argument.
    unsafe { exit(status) }
}

/// # Safety
/// As of _exit(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _exit(status: c_int) -> ! {
    handler::process_ends();
    end(status)
}

/// # Safety
/// As of _exit(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Exit(status: c_int) -> ! {
    handler::process_ends();
    end(status)
}

/// Ends the process at once.
pub(crate) fn end(status: c_int) -> ! {
    loop {
        // SAFETY: no memory is touched; the process ends here.
        unsafe { libc::syscall(libc::SYS_exit_group, status) };
    }
}

//! The functions by which a process asks for a handler: `sigaction`, and those of `signal`'s family, which glibc makes of its own
//! `sigaction` (`signal/signal.c`, `sysdeps/posix/signal.c`, `sysdeps/posix/sysv_signal.c`).
#![expect(unsafe_code, reason = "exported functions")]

use core::ffi::c_int;

use libc::{SIG_ERR, sigaction as Action, sighandler_t};

use crate::{actions, threads};

/// The type of `signal`.
type Signal = unsafe extern "C" fn(c_int, sighandler_t) -> sighandler_t;

/// # Safety
/// As of sigaction(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(signal: c_int, action: *const Action, old: *mut Action) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { actions::change(signal, action, old) }
}

/// # Safety
/// As of signal(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signal(signal: c_int, handler: sighandler_t) -> sighandler_t {
    // SAFETY: the caller's arguments.
    unsafe { set(signal, handler, libc::SA_RESTART, true) }
}

/// # Safety
/// As of signal(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsd_signal(signal: c_int, handler: sighandler_t) -> sighandler_t {
    // SAFETY: the caller's arguments.
    unsafe { set(signal, handler, libc::SA_RESTART, true) }
}

/// # Safety
/// As of signal(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssignal(signal: c_int, handler: sighandler_t) -> sighandler_t {
    // SAFETY: the caller's arguments.
    unsafe { set(signal, handler, libc::SA_RESTART, true) }
}

/// # Safety
/// As of sysv_signal(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sysv_signal(signal: c_int, handler: sighandler_t) -> sighandler_t {
    // SAFETY: the caller's arguments.
    unsafe { set(signal, handler, libc::SA_RESETHAND | libc::SA_NODEFER, false) }
}

/// What `signal` is in programs that ask for System V's meaning.
///
/// # Safety
/// As of sysv_signal(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sysv_signal(signal: c_int, handler: sighandler_t) -> sighandler_t {
    // SAFETY: the caller's arguments.
    unsafe { set(signal, handler, libc::SA_RESETHAND | libc::SA_NODEFER, false) }
}

/// `blocks`: the signal itself is in the mask. Other signals are left to glibc's function, the meaning of which `siginterrupt` changes.
unsafe fn set(signal: c_int, handler: sighandler_t, flags: c_int, blocks: bool) -> sighandler_t {
    if !actions::SIGNALS.contains(&signal) {
        let name = if blocks { c"signal" } else { c"sysv_signal" };
        // SAFETY: both functions have this type.
        let next = unsafe { core::mem::transmute::<usize, Signal>(threads::next(name)) };
        // SAFETY: the caller's arguments.
        return unsafe { next(signal, handler) };
    }
    // SAFETY: no handler, no flags, an empty mask.
    let mut action: Action = unsafe { core::mem::zeroed() };
    let mut old = action;
    action.sa_sigaction = handler;
    action.sa_flags = flags;
    if handler == SIG_ERR {
        // SAFETY: no requirements.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: the thread's variable.
        unsafe { errno.write(libc::EINVAL) };
        return SIG_ERR;
    }
    if blocks {
        // SAFETY: a mask of this function's.
        unsafe { libc::sigaddset(&raw mut action.sa_mask, signal) };
    }
    // SAFETY: actions of this function's.
    let failed = unsafe { actions::change(signal, &raw const action, &raw mut old) };
    if failed == 0 { old.sa_sigaction } else { SIG_ERR }
}

//! What the process wants to happen at the signals of a crash: kept here, while the kernel knows this library's handler.
//!
//! The process is told of its own action alone. The flags and the mask that it asks for hold for our handler as well, so that the kernel
//! does what it would do for the process's: all but SA_RESETHAND, which our handler follows itself, and SA_ONSTACK, which is always set.
//! Faults are never blocked while a handler runs, as a fault that is blocked ends the process without a handler (`force_sig` of the
//! kernel); our handler does what a block would have done (`blocked.rs`).
//! SIG_IGN is handed to the kernel as it is: it survives `execve`.
#![expect(unsafe_code, reason = "calls glibc's sigaction, and copies what it is told")]

use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use libc::{SIG_DFL, SIG_IGN, sigaction as Action};

use crate::{arch, handler};

/// The signals.
pub(crate) const SIGNALS: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT];

/// Those of them that are faults, which a program may well send as well.
pub(crate) const FAULTS: [c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL];

/// A change takes the next of these places: who reads one while it is written anew would have to sleep through as many changes.
const PLACES: usize = 64;

unsafe extern "C" {
    /// glibc's `sigaction`, under the name by which it calls it itself: `sigaction` is defined here.
    pub(crate) fn __sigaction(signal: c_int, action: *const Action, old: *mut Action) -> c_int;
}

struct Kept {
    places: UnsafeCell<[Action; PLACES]>,
    /// The one that holds; more than `PLACES` is the same modulo `PLACES`.
    current: AtomicUsize,
    next: AtomicUsize,
}

// SAFETY: a place is written before it becomes the current one.
unsafe impl Sync for Kept {}

// SAFETY: no handler, no flags, an empty mask.
const DEFAULT: Action = unsafe { core::mem::zeroed() };

static KEPT: [Kept; SIGNALS.len()] = [const {
    Kept { places: UnsafeCell::new([DEFAULT; PLACES]), current: AtomicUsize::new(0), next: AtomicUsize::new(1) }
}; SIGNALS.len()];

/// The process whose actions these are: the child of a `vfork` has the memory, and actions of its own.
static PROCESS: AtomicI32 = AtomicI32::new(0);

impl Kept {
    fn get(&self) -> Action {
        let place = self.place(self.current.load(Ordering::Acquire));
        // SAFETY: the current place was written before it became that.
        unsafe { place.read() }
    }

    /// Replaces it, and returns what was there.
    fn set(&self, action: Action) -> Action {
        let place = self.next.fetch_add(1, Ordering::Relaxed);
        // SAFETY: nobody reads this place, nor writes to it.
        unsafe { self.place(place).write(action) };
        let old = self.place(self.current.swap(place, Ordering::AcqRel));
        // SAFETY: as in `get`.
        unsafe { old.read() }
    }

    /// One of the places, in bounds.
    fn place(&self, number: usize) -> *mut Action {
        self.places.get().cast::<Action>().wrapping_add(number % PLACES)
    }
}

fn kept(signal: c_int) -> Option<&'static Kept> {
    KEPT.get(SIGNALS.iter().position(|known| *known == signal)?)
}

fn ours() -> usize {
    handler::on_signal as *const () as usize
}

/// Puts our handler in place for all signals, on behalf of what the process has now.
pub(crate) fn take() {
    PROCESS.store(process(), Ordering::Relaxed);
    for signal in SIGNALS {
        let mut action = DEFAULT;
        // SAFETY: asks only.
        unsafe { __sigaction(signal, null(), &raw mut action) };
        if let Some(kept) = kept(signal) {
            kept.set(action);
            let _ = tell_kernel(signal, action);
        }
    }
    // SAFETY: the function may be called in any child.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

/// The child of a `fork` has this process's actions, and goes on with them by itself.
unsafe extern "C" fn in_child() {
    PROCESS.store(process(), Ordering::Relaxed);
}

fn process() -> i32 {
    // SAFETY: no requirements.
    unsafe { libc::getpid() }
}

/// What the process wants to happen.
pub(crate) fn of(signal: c_int) -> Action {
    kept(signal).map_or(DEFAULT, Kept::get)
}

/// A handler that is to be called once is called: the default holds from now on.
pub(crate) fn reset(signal: c_int) {
    if let Some(kept) = kept(signal) {
        kept.set(Action { sa_sigaction: SIG_DFL, ..kept.get() });
    }
}

/// The kernel's own action from now on: the process is about to end.
pub(crate) fn give_back(signal: c_int) {
    let default = Action { sa_sigaction: SIG_DFL, ..DEFAULT };
    // SAFETY: the default action.
    unsafe { __sigaction(signal, &raw const default, null_mut()) };
}

/// `sigaction` as the process calls it.
///
/// # Safety
/// As of sigaction(2).
pub(crate) unsafe fn change(signal: c_int, action: *const Action, old: *mut Action) -> c_int {
    let Some(kept) = kept(signal).filter(|_| crate::start::is_done()) else {
        // SAFETY: the caller's arguments.
        return unsafe { __sigaction(signal, action, old) };
    };
    let mut known = DEFAULT;
    // SAFETY: asks only.
    let failed = unsafe { __sigaction(signal, null(), &raw mut known) };
    if failed != 0 {
        return failed;
    }
    // What was set by a system call holds; our handler stands for what is kept.
    let before = if known.sa_sigaction == ours() { kept.get() } else { known };
    // SAFETY: null, or the caller's.
    if let Some(action) = unsafe { action.as_ref() } {
        if PROCESS.load(Ordering::Relaxed) == process() {
            kept.set(Action { sa_flags: action.sa_flags | arch::SHOWN, ..*action });
            let failed = tell_kernel(signal, *action);
            if failed != 0 {
                return failed;
            }
        } else {
            // SAFETY: the caller's arguments.
            unsafe { __sigaction(signal, action, null_mut()) };
        }
    }
    if !old.is_null() {
        // SAFETY: the caller's place for it.
        unsafe { old.write(before) };
    }
    0
}

fn tell_kernel(signal: c_int, action: Action) -> c_int {
    let mut told = action;
    if action.sa_sigaction != SIG_IGN {
        told.sa_sigaction = ours();
        told.sa_flags = (action.sa_flags & !libc::SA_RESETHAND) | libc::SA_SIGINFO | libc::SA_ONSTACK;
        if FAULTS.contains(&signal) {
            told.sa_flags |= libc::SA_NODEFER;
        }
        for fault in FAULTS {
            // SAFETY: a mask of this function's.
            unsafe { libc::sigdelset(&raw mut told.sa_mask, fault) };
        }
    }
    // SAFETY: a handler that may be called anywhere.
    unsafe { __sigaction(signal, &raw const told, null_mut()) }
}

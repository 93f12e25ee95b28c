//! Faults that the process wants blocked while a handler of its own runs: the kernel does not block them, so that a fault of the handler is
//! reported as well.
//!
//! A fault that is blocked ends the process. One that was sent waits until the handler has returned.
#![expect(unsafe_code, reason = "keeps what the kernel says of signals, and sends them again")]

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::ptr::{null_mut, without_provenance};
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering};

use libc::{sigaction as Action, siginfo_t};

use crate::actions::FAULTS;
use crate::alternate_stack::SIZE;

/// The thread that a handler of the process runs in, or one that has left it by `siglongjmp`.
static THREAD: AtomicI32 = AtomicI32::new(0);
/// Where on the stack our handler is that has called it.
static FRAME: AtomicUsize = AtomicUsize::new(0);
/// A bit for each of [`FAULTS`] that would be blocked.
static BLOCKED: AtomicU32 = AtomicU32::new(0);
/// A bit for each that waits.
static WAITING: AtomicU32 = AtomicU32::new(0);
/// What the kernel has said of it.
static WAITS: Waits = Waits(UnsafeCell::new([const { None }; FAULTS.len()]));

struct Waits(UnsafeCell<[Option<siginfo_t>; FAULTS.len()]>);

// SAFETY: the thread alone uses it that the handler runs in.
unsafe impl Sync for Waits {}

/// A handler that is being called.
pub(crate) struct Handler {
    thread: c_int,
    frame: usize,
    blocked: u32,
    is_nested: bool,
}

fn bit(signal: c_int) -> u32 {
    FAULTS.iter().position(|fault| *fault == signal).map_or(0, |place| 1 << place)
}

/// Is the thread in a handler of the process, or has it left one without a word? Only a look at the stack tells.
pub(crate) fn may_be_in_handler(thread: c_int) -> bool {
    THREAD.load(Ordering::Acquire) == thread
}

/// Is a thread with this stack pointer in a handler of the process?
pub(crate) fn is_in_handler(thread: c_int, stack: u64) -> bool {
    let frame = FRAME.load(Ordering::Acquire);
    may_be_in_handler(thread) && (frame.saturating_sub(SIZE)..frame).contains(&(stack as usize))
}

/// Would the signal be blocked in the handler that the thread is in?
pub(crate) fn is_blocked(signal: c_int) -> bool {
    BLOCKED.load(Ordering::Acquire) & bit(signal) != 0
}

/// Where what the kernel said of such a signal is kept: of [`FAULTS`] the one at this place.
fn wait_of(place: usize) -> *mut Option<siginfo_t> {
    WAITS.0.get().cast::<Option<siginfo_t>>().wrapping_add(place)
}

/// It waits until the handler has returned.
pub(crate) fn wait(signal: c_int, info: *const siginfo_t) {
    let Some(place) = FAULTS.iter().position(|fault| *fault == signal) else { return };
    // SAFETY: what the kernel said of the signal.
    let info = unsafe { info.as_ref() };
    // SAFETY: a place in bounds, which this thread alone writes to.
    unsafe { wait_of(place).write(info.copied()) };
    WAITING.fetch_or(bit(signal), Ordering::AcqRel);
}

impl Handler {
    /// This one is about to be called. `frame`: a place on the stack of our handler; `is_nested`: from inside of another one.
    pub(crate) fn begin(thread: c_int, frame: usize, signal: c_int, action: &Action, is_nested: bool) -> Handler {
        let before = Handler {
            thread: THREAD.load(Ordering::Acquire),
            frame: FRAME.load(Ordering::Acquire),
            blocked: if is_nested { BLOCKED.load(Ordering::Acquire) } else { 0 },
            is_nested,
        };
        let mut blocked = before.blocked;
        if action.sa_flags & libc::SA_NODEFER == 0 {
            blocked |= bit(signal);
        }
        // SAFETY: reads a mask.
        let masked =
            FAULTS.into_iter().filter(|fault| unsafe { libc::sigismember(&raw const action.sa_mask, *fault) } == 1);
        blocked |= masked.map(bit).sum::<u32>();
        THREAD.store(thread, Ordering::Release);
        FRAME.store(frame, Ordering::Release);
        BLOCKED.store(blocked, Ordering::Release);
        before
    }

    /// It has returned: what has waited arrives where the thread was interrupted, when our handler returns.
    pub(crate) fn end(self, process: c_int, thread: c_int) {
        if self.is_nested {
            THREAD.store(self.thread, Ordering::Release);
            FRAME.store(self.frame, Ordering::Release);
        } else {
            THREAD.store(0, Ordering::Release);
        }
        BLOCKED.store(self.blocked, Ordering::Release);
        let due = WAITING.load(Ordering::Acquire) & !self.blocked;
        WAITING.fetch_and(!due, Ordering::AcqRel);
        for (place, signal) in FAULTS.into_iter().enumerate().filter(|(place, _)| due >> place & 1 != 0) {
            // SAFETY: written by `wait`; the place is in bounds.
            let info = unsafe { wait_of(place).read() };
            let mask = 1_u64 << (signal - 1);
            let none = null_mut::<c_void>();
            // SAFETY: a mask of this function's. The old one comes back when our handler returns.
            unsafe {
                libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, &raw const mask, none, size_of::<u64>())
            };
            let info = info.as_ref().map_or(without_provenance(0), core::ptr::from_ref);
            // SAFETY: sent to this thread with what the kernel said of it.
            unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, signal, info) };
        }
    }
}

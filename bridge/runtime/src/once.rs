//! What happens once in a process, when it is first needed.
//!
//! Not `std::sync::Once`: the thread that is at it comes back to us, from constructors of tools, and must not wait for itself.

use crate::sync::atomic::{AtomicI32, Ordering};
use crate::sync::yield_now;

/// Not done.
pub(crate) const IDLE: i32 = 0;
/// Done; any other value is the thread that is at it.
const DONE: i32 = -1;

/// Whether it has happened.
pub(crate) struct Once {
    state: AtomicI32,
}

impl Once {
    /// Around a state that is [`IDLE`].
    pub(crate) const fn new(state: AtomicI32) -> Once {
        Once { state }
    }

    /// Has it happened?
    pub(crate) fn is_done(&self) -> bool {
        self.state.load(Ordering::Acquire) == DONE
    }

    /// Does `work`, which says whether it could be done, unless that has happened. `me` is the calling thread, a positive
    /// number. A thread that comes meanwhile waits; that which is at it goes on at once.
    pub(crate) fn ensure(&self, me: i32, work: impl FnOnce() -> bool) {
        match self.state.compare_exchange(IDLE, me, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                let state = if work() { DONE } else { IDLE };
                self.state.store(state, Ordering::Release);
            }
            Err(state) if state == me => {}
            Err(_) => {
                while ![IDLE, DONE].contains(&self.state.load(Ordering::Acquire)) {
                    yield_now();
                }
            }
        }
    }
}

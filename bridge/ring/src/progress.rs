//! How far something has come that happens once in a process, under the lock of `ld.so`.

use crate::sync::atomic::{AtomicU8, Ordering};
use qmpi_dynamic::LinkerLock;

/// Not begun, or to be tried again.
pub const IDLE: u8 = 0;
/// A thread is at it, and holds the lock; or a parent of this process was when it forked.
const UNDER_WAY: u8 = 1;
/// It has happened.
const DONE: u8 = 2;

/// The progress.
#[derive(Debug)]
pub struct Progress(AtomicU8);

impl Progress {
    /// Of a state that is [`IDLE`].
    pub const fn new(state: AtomicU8) -> Progress {
        Progress(state)
    }

    /// Has it happened?
    pub fn is_done(&self) -> bool {
        self.0.load(Ordering::Acquire) == DONE
    }

    /// Does `work`, which says whether it could be done, unless that has happened. Returns whether it has happened.
    ///
    /// What comes back from inside of `work` does not wait, nor does it begin again: it learns that it has not happened. So does the
    /// child of a `fork` whose parent was at it.
    pub fn advance(&self, _: &LinkerLock, work: impl FnOnce() -> bool) -> bool {
        if self.0.load(Ordering::Acquire) == IDLE {
            self.0.store(UNDER_WAY, Ordering::Relaxed);
            let state = if work() { DONE } else { IDLE };
            self.0.store(state, Ordering::Release);
        }
        self.is_done()
    }
}

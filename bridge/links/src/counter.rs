//! A link of the chain that counts the calls through it, for `--stats`. Without that option there is no such link.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::arch;
use crate::error::StubError;
use crate::trampoline;

/// How many calls came past, and where they go.
#[derive(Debug)]
#[repr(C)]
pub struct Counter {
    pub(crate) calls: AtomicU64,
    pub(crate) target: usize,
}

impl Counter {
    /// Makes a link that counts and jumps to `target`, whose caller it does not hide. Returns its address, too.
    ///
    /// # Errors
    /// When no further stubs can be mapped.
    pub fn before(target: usize) -> Result<(&'static Counter, usize), StubError> {
        #[cfg(planted)]
        let target = crate::planted::racing_copy(target)?;
        let counter = Box::leak(Box::new(Counter { calls: AtomicU64::new(0), target }));
        Ok((counter, trampoline::allocate(arch::count, counter)?))
    }

    /// Calls so far.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }
}

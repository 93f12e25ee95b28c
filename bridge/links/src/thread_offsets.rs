//! Where the thread-local variables of stubs are, as offsets from the thread pointer. Set once, before the first stub is made.

use std::sync::atomic::{AtomicUsize, Ordering};

use qmpi_ring::ThreadOffsets;
use qmpi_ring::ring::{OWN_DEPTH, OWN_RECORD};

/// Machine code reads them.
pub(crate) static CALLER: AtomicUsize = AtomicUsize::new(0);
pub(crate) static FORTRAN_LEVEL: AtomicUsize = AtomicUsize::new(0);

pub(crate) static OWN_CALLS: AtomicUsize = AtomicUsize::new(0);
/// Of the last record for which there is room.
pub(crate) static LAST_OWN_CALL: AtomicUsize = AtomicUsize::new(0);

/// The layers that the call which starts a request went past, a bit each.
pub(crate) static PAST: AtomicUsize = AtomicUsize::new(0);

/// Sets them.
pub fn set(offsets: ThreadOffsets) {
    PAST.store(offsets.past, Ordering::Relaxed);
    OWN_CALLS.store(offsets.own_calls, Ordering::Relaxed);
    LAST_OWN_CALL.store(offsets.own_calls.wrapping_add(OWN_RECORD * OWN_DEPTH), Ordering::Relaxed);
    CALLER.store(offsets.caller, Ordering::Relaxed);
    FORTRAN_LEVEL.store(offsets.fortran_level, Ordering::Relaxed);
}

/// Unit tests have variables of their own.
#[cfg(test)]
mod of_tests {
    #![expect(unsafe_code, reason = "an init_array entry")]

    use qmpi_ring::thread_offsets;

    #[used]
    #[unsafe(link_section = ".init_array")]
    static ON_LOAD: extern "C" fn() = on_load;

    extern "C" fn on_load() {
        super::set(thread_offsets());
    }
}

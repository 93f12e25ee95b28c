//! Where the thread-local variables of stubs are, as offsets from the thread pointer. Set once, before the first stub is made.

use std::sync::atomic::{AtomicUsize, Ordering};

use qmpi_ring::ThreadOffsets;

/// Machine code reads them.
pub(crate) static CALLER: AtomicUsize = AtomicUsize::new(0);
pub(crate) static FORTRAN_LEVEL: AtomicUsize = AtomicUsize::new(0);

/// Sets them.
pub fn set(offsets: ThreadOffsets) {
    CALLER.store(offsets.caller, Ordering::Relaxed);
    FORTRAN_LEVEL.store(offsets.fortran_level, Ordering::Relaxed);
}

/// Unit tests have variables of their own.
#[cfg(test)]
mod of_tests {
    #![expect(unsafe_code, reason = "an init_array entry")]

    qmpi_ring::define_thread_storage!();

    #[used]
    #[unsafe(link_section = ".init_array")]
    static ON_LOAD: extern "C" fn() = on_load;

    extern "C" fn on_load() {
        super::set(thread_offsets());
    }
}

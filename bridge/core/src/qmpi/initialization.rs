//! Has the initialization of MPI begun? Tools can be registered until then.
//!
//! The draft, "Tool Life Cycle": "All registration must occur before MPI initialization is started and no tool can be registered with
//! MPI after that point", in the World Model or in the Sessions Model. Where there is a chain, its topmost links of the functions that
//! initialize MPI tell. Where there is none (a process without a stack), and where a Fortran library leads past them, the MPI library
//! is asked: it knows of the World Model only.

use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};

use qmpi_links::observer;
use qmpi_loader::Process;
use qmpi_loader::process::loader_lock;

static HAS_BEGUN: AtomicBool = AtomicBool::new(false);

/// A link that records that a call arrived and goes on to `target`.
pub(crate) fn observe(target: usize) -> usize {
    extern "C" fn notify(_: usize, _: usize) {
        HAS_BEGUN.store(true, Ordering::Relaxed);
    }
    observer::observe(target, notify, 0)
}

/// Has it begun?
pub(super) fn has_begun() -> bool {
    let mut is_initialized: c_int = 0;
    let arguments = [(&raw mut is_initialized).cast(), null_mut()];
    let ask = || loader_lock::with(|lock| Process::with_mpi(lock)?.ask("MPI_Initialized", arguments));
    HAS_BEGUN.load(Ordering::Relaxed) || ask().is_some() && is_initialized != 0
}

//! What one instance has to do at the end of the process. `exit.rs` has the order in which instances do it.

pub(crate) mod destructors;
pub(crate) mod handlers;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use crate::end::destructors::Destructors;
use crate::end::handlers::Handlers;

/// What an instance does at the end.
#[derive(Debug, Default)]
pub(crate) struct End {
    pub(crate) handlers: Handlers,
    /// It has destructors.
    pub(crate) has_destructors: AtomicBool,
    /// Its constructors have run.
    pub(crate) is_initialized: AtomicBool,
    /// Its destructors are about to run, or have run.
    pub(crate) is_finalized: AtomicBool,
    /// The number of its layer in the stack, and one more; 0: it has none, as in a named stack, and does not wait for MPI_Finalize.
    pub(crate) layer: AtomicUsize,
    /// Of a clone: what `ld.so` does not run.
    pub(crate) of_clone: OnceLock<Destructors>,
}

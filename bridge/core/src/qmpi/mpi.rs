//! What depends on the MPI of this process: the numbers of error classes and of functions, and until when tools can be registered.

use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use qmpi_abi::MpiFamily;
use qmpi_abi::numbering::Numbering;
use qmpi_links::observer;
use qmpi_loader::Process;
use qmpi_loader::process::loader_lock;

/// What a function of the interface returns if it fails: an error class, whose number depends on the MPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// `MPI_ERR_ARG`: an argument is invalid.
    Arg,
    /// `MPI_ERR_OTHER`: not at this time.
    Other,
}

impl Class {
    /// Its number in the MPI of this process.
    pub(crate) fn code(self) -> c_int {
        let family = loader_lock::with(|lock| Process::with_mpi(lock)?.family());
        match (self, family == Some(MpiFamily::Mpich)) {
            (Class::Arg, true) => 12,
            (Class::Arg, false) => 13,
            (Class::Other, true) => 15,
            (Class::Other, false) => 16,
        }
    }
}

/// The numbering of functions in force in this process: its MPICH's, or else that of `qmpi.h`.
pub(crate) fn numbering() -> &'static Numbering {
    numbering_of_mpich().unwrap_or(Numbering::OWN)
}

/// The numbering of the MPICH in this process, if it is one whose numbers are known.
pub(super) fn numbering_of_mpich() -> Option<&'static Numbering> {
    static NUMBERING: OnceLock<Option<&'static Numbering>> = OnceLock::new();
    if let Some(found) = NUMBERING.get() {
        return *found;
    }
    // Not kept before MPI is there: it may come later.
    loader_lock::with(|lock| {
        let process = Process::with_mpi(lock)?;
        *NUMBERING.get_or_init(|| process.mpich_version().as_deref().and_then(Numbering::for_mpich))
    })
}

static INITIALIZATION_HAS_BEGUN: AtomicBool = AtomicBool::new(false);

/// A link that records that a call which initializes MPI arrived, and goes on to `target`.
pub(crate) fn observe_initialization(target: usize) -> usize {
    extern "C" fn notify(_: usize, _: usize) {
        INITIALIZATION_HAS_BEGUN.store(true, Ordering::Relaxed);
    }
    observer::observe(target, notify, 0)
}

/// Has the initialization of MPI begun? Tools can be registered until then.
///
/// The draft, "Tool Life Cycle": "All registration must occur before MPI initialization is started and no tool can be registered with
/// MPI after that point", in the World Model or in the Sessions Model. Where there is a chain, its topmost links of the functions that
/// initialize MPI tell. Where there is none (a process without a stack), and where a Fortran library leads past them, the MPI library
/// is asked: it knows of the World Model only.
pub(super) fn initialization_has_begun() -> bool {
    let mut is_initialized: c_int = 0;
    let arguments = [(&raw mut is_initialized).cast(), null_mut()];
    let ask = || loader_lock::with(|lock| Process::with_mpi(lock)?.ask("MPI_Initialized", arguments));
    INITIALIZATION_HAS_BEGUN.load(Ordering::Relaxed) || ask().is_some() && is_initialized != 0
}

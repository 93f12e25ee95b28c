//! The numbers by which functions are known in this process.

use std::sync::OnceLock;

use qmpi_abi::numbering::Numbering;
use qmpi_loader::Process;
use qmpi_loader::process::loader_lock;

/// The numbering of functions in force in this process: its MPICH's, or else that of `qmpi.h`.
pub(crate) fn of_process() -> &'static Numbering {
    of_mpich().unwrap_or(Numbering::OWN)
}

/// The numbering of the MPICH in this process, if it is one whose numbers are known.
pub(super) fn of_mpich() -> Option<&'static Numbering> {
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

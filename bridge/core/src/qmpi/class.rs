//! MPI error classes: the number depends on the MPI.

use std::ffi::c_int;

use qmpi_elf::MpiFamily;
use qmpi_loader::Process;
use qmpi_loader::process::loader_lock;

/// What a function of the interface returns if it fails.
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

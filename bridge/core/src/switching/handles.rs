//! How an MPI represents handles of a kind, for code that compares them.

use std::ffi::CStr;

use qmpi_abi::FnId;
use qmpi_elf::MpiFamily;
use qmpi_links::handles::KnownHandles;
use qmpi_loader::Process;
use qmpi_loader::process::dlsym;

/// What the null handle of a kind is in each MPI, and what makes C's handle of Fortran's.
pub(super) struct HandleKind {
    /// MPICH's: an `int`.
    pub(super) mpich: usize,
    /// Of MPI 5.0, appendix A.
    pub(super) abi: usize,
    /// Open MPI's variable, whose address it is.
    pub(super) open_mpi: &'static CStr,
    /// Such as `MPI_Comm_f2c`.
    pub(super) from_fortran: &'static str,
}

impl HandleKind {
    pub(super) fn of(&self, process: &Process) -> KnownHandles {
        let large = |null| KnownHandles { size: 8, null, from_fortran: real(process, self.from_fortran) };
        match process.family() {
            Some(MpiFamily::Mpich) | None => KnownHandles { size: 4, null: self.mpich, from_fortran: 0 },
            Some(MpiFamily::StandardAbi) => large(self.abi),
            Some(MpiFamily::OpenMpi) => large(address_of(process, self.open_mpi)),
        }
    }
}

/// The MPI library's function of this name; 0: it has none.
pub(super) fn real(process: &Process, name: &str) -> usize {
    FnId::by_name(name).and_then(|id| process.real(id)).unwrap_or(0)
}

/// Where a variable of Open MPI's is, whose address is a handle; 0: nowhere.
fn address_of(process: &Process, name: &'static CStr) -> usize {
    let of_library = || process.images().iter().find_map(|image| image.find(name)).map(|symbol| symbol.address);
    // A program may have a copy of the variable, whose address is then the handle everywhere.
    dlsym::global(name).or_else(of_library).unwrap_or(0)
}

//! How this MPI represents requests and communicators, for code that compares them.

use std::ffi::{CStr, CString};

use qmpi_abi::{FnId, MpiFamily};
use qmpi_links::filter::Communicators;
use qmpi_links::handles::KnownHandles;
use qmpi_loader::Process;
use qmpi_loader::process::dlsym;

pub(super) fn requests(process: &Process) -> KnownHandles {
    handles(process, [0x2c00_0000, 0x180], c"ompi_request_null", "MPI_Request_f2c")
}

/// Those of these names.
pub(super) fn communicators(process: &Process, names: &[String]) -> Communicators {
    let handles = handles(process, [0x0400_0000, 0x100], c"ompi_mpi_comm_null", "MPI_Comm_f2c");
    // The configuration allows no zero bytes in names.
    let names = names.iter().filter_map(|name| CString::new(name.as_str()).ok()).collect();
    Communicators { names, get_name: real(process, "MPI_Comm_get_name"), handles }
}

/// Those of a kind. The null handle is one of two numbers, MPICH's and that of MPI 5.0, appendix A, or the address of Open MPI's variable.
fn handles(process: &Process, [mpich, abi]: [usize; 2], open_mpi: &'static CStr, from_fortran: &str) -> KnownHandles {
    let large = |null| KnownHandles { size: 8, null, from_fortran: real(process, from_fortran) };
    match process.family() {
        Some(MpiFamily::Mpich) | None => KnownHandles { size: 4, null: mpich, from_fortran: 0 },
        Some(MpiFamily::StandardAbi) => large(abi),
        Some(MpiFamily::OpenMpi) => large(address_of(process, open_mpi)),
    }
}

/// The MPI library's function of this name; 0: it has none.
fn real(process: &Process, name: &str) -> usize {
    FnId::by_name(name).and_then(|id| process.real(id)).unwrap_or(0)
}

/// Where a variable of Open MPI's is, whose address is a handle; 0: nowhere.
fn address_of(process: &Process, name: &'static CStr) -> usize {
    let of_library = || process.images().iter().find_map(|image| image.find(name)).map(|symbol| symbol.address);
    // A program may have a copy of the variable, whose address is then the handle everywhere.
    dlsym::global(name).or_else(of_library).unwrap_or(0)
}

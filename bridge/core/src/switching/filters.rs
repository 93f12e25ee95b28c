//! The filter of a layer, made of its settings and of what this MPI library has.

use std::ffi::CString;

use qmpi_abi::FnId;
use qmpi_elf::MpiFamily;
use qmpi_loader::Process;
use qmpi_loader::links::filter::{Communicators, Conditions, Filter};

use super::address_of;

/// The filter, from now on.
pub(super) fn made(process: &Process, settings: &qmpi_plan::Filter) -> &'static Filter {
    let conditions = Conditions {
        every: settings.every.get(),
        from: settings.from,
        to: settings.to,
        communicators: settings.communicators.as_deref().map(|names| communicators(process, names)),
    };
    Box::leak(Box::new(Filter::new(conditions)))
}

fn communicators(process: &Process, names: &[String]) -> Communicators {
    let real = |name: &str| FnId::by_name(name).and_then(|id| process.real(id)).unwrap_or(0);
    let (size, null, from_fortran) = match process.family() {
        Some(MpiFamily::Mpich) | None => (4, 0x0400_0000, 0),
        // MPI 5.0, appendix A.
        Some(MpiFamily::StandardAbi) => (8, 0x100, real("MPI_Comm_f2c")),
        Some(MpiFamily::OpenMpi) => (8, address_of(process, c"ompi_mpi_comm_null"), real("MPI_Comm_f2c")),
    };
    Communicators {
        // The configuration allows no zero bytes in names.
        names: names.iter().filter_map(|name| CString::new(name.as_str()).ok()).collect(),
        get_name: real("MPI_Comm_get_name"),
        null,
        size,
        from_fortran,
    }
}

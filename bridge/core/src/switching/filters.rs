//! The filter of a layer, made of its settings and of what this MPI library has.

use std::ffi::CString;

use qmpi_links::filter::{CallFilter, Communicators, Conditions};
use qmpi_loader::Process;

use super::handles::{HandleKind, real};

/// The filter, from now on.
pub(super) fn made(process: &Process, settings: &qmpi_plan::Filter) -> &'static CallFilter {
    let conditions = Conditions {
        every: settings.every.get(),
        from: settings.from,
        to: settings.to,
        communicators: settings.communicators.as_deref().map(|names| communicators(process, names)),
    };
    Box::leak(Box::new(CallFilter::new(conditions)))
}

const COMMUNICATORS: HandleKind =
    HandleKind { mpich: 0x0400_0000, abi: 0x100, open_mpi: c"ompi_mpi_comm_null", from_fortran: "MPI_Comm_f2c" };

fn communicators(process: &Process, names: &[String]) -> Communicators {
    // The configuration allows no zero bytes in names.
    let names = names.iter().filter_map(|name| CString::new(name.as_str()).ok()).collect();
    Communicators { names, get_name: real(process, "MPI_Comm_get_name"), handles: COMMUNICATORS.of(process) }
}

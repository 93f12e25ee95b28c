//! Objects of the base namespace whose `PMPI_*` calls have to enter the chain.
//!
//! * A PMPI tool that the application is linked with, or that is preloaded: it comes first, and its `PMPI_f` starts the
//!   chain.
//! * MPI's Fortran libraries: `mpi_send_` calls C's `PMPI_Send` in Open MPI and, in parts, in MPICH. Rebound, every
//!   Fortran call reaches tools that have C wrappers only, after MPI's own conversion of handles and sentinels.

use std::ffi::CStr;

use qmpi_abi::{Binding, FnId};
use qmpi_loader::image::{Image, Kind};
use qmpi_loader::{Process, rebind};

use crate::chain::Chain;
use crate::entry;

/// Rebinds the objects that need it, and lets calls of the application begin at the first tool among them.
///
/// Returns the functions whose slot was given to such a tool.
pub(crate) fn enter(process: &Process, chain: &Chain) -> Vec<FnId> {
    let own = entry::set as *const () as usize;
    let mut behind_us = false;
    let mut taken = Vec::new();
    for image in process.images() {
        if image.contains(own) {
            behind_us = true;
        } else if process.is_mpi(image) {
            if !chain.layers().is_empty() && is_fortran(image) {
                rebind_profiling(image, chain);
            }
        } else if let Some(functions) = tool_functions(image) {
            rebind_profiling(image, chain);
            // An object before us in the search order gets the application's calls anyway.
            if behind_us {
                for (id, address) in functions {
                    if !taken.contains(&id) {
                        entry::set(id, address);
                        taken.push(id);
                    }
                }
            }
        }
    }
    taken
}

/// Points every `PMPI_*` that `image` refers to at the top of the chain.
fn rebind_profiling(image: &Image, chain: &Chain) -> usize {
    rebind::rebind(image, |name| {
        let id = profiling_id(name)?;
        Some(chain.links()[id.index()]).filter(|address| *address != 0)
    })
}

fn profiling_id(name: &CStr) -> Option<FnId> {
    if !name.to_bytes().starts_with(b"PMPI") {
        return None;
    }
    let symbol = qmpi_abi::classify(name.to_str().ok()?)?;
    (symbol.profiling && symbol.binding == Binding::C).then_some(symbol.id)
}

/// The `MPI_*` functions of an object that is a PMPI tool: it defines some and imports `PMPI_*`.
fn tool_functions(image: &Image) -> Option<Vec<(FnId, usize)>> {
    let mut defines = Vec::new();
    let mut imports = false;
    for symbol in image.symbols() {
        if symbol.defined {
            let function = symbol.name.to_bytes().starts_with(b"MPI") && symbol.kind == Kind::Function;
            let id = function.then(|| FnId::by_name(symbol.name.to_str().ok()?)).flatten();
            defines.extend(id.map(|id| (id, symbol.address)));
        } else {
            imports |= profiling_id(symbol.name).is_some();
        }
    }
    (imports && !defines.is_empty()).then_some(defines)
}

fn is_fortran(image: &Image) -> bool {
    image.find(c"PMPI_Init").is_none()
        && image.symbols().filter(|symbol| symbol.defined).any(|symbol| {
            let name = symbol.name.to_str().ok().and_then(qmpi_abi::classify);
            name.is_some_and(|symbol| symbol.binding != Binding::C)
        })
}

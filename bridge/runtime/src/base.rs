//! Objects of the base namespace whose `PMPI_*` calls have to enter the chain.
//!
//! * A PMPI tool that the application is linked with, or that is preloaded: it comes first, and its `PMPI_f` starts the
//!   chain.
//! * MPI's Fortran libraries: `mpi_send_` calls C's `PMPI_Send` in Open MPI and, in parts, in MPICH. Rebound, every
//!   Fortran call reaches tools that have C wrappers only, after MPI's own conversion of handles and sentinels.

use std::ffi::CStr;

use qmpi_abi::{Binding, FnId};
use qmpi_loader::Process;
use qmpi_loader::image::{Image, Kind};
use qmpi_loader::rebind::{self, Which};

use crate::chain::Chain;
use crate::entry;

/// Rebinds the objects that need it, lets calls of the application begin at the first tool among them, and takes the detour
/// through libqmpi's entry stubs out of all calls that are bound already.
pub(crate) fn enter(process: &Process, chain: &mut Chain) {
    let own = (entry::set as *const ()).addr();
    let tops = chain.all_pmpi();
    let mut behind_us = false;
    let mut taken = Vec::new();
    for image in process.images() {
        if image.contains(own) {
            behind_us = true;
        } else if process.is_mpi(image) {
            if !chain.is_empty() && is_fortran(image) {
                rebind_profiling(image, &tops);
            }
        } else if let Some(functions) = tool_functions(image) {
            rebind_profiling(image, &tops);
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
    if let Some(ours) = process.images().iter().find(|image| image.contains(own)) {
        shorten(process, ours);
    }
}

/// Points calls that are bound to an entry stub of ours directly to where the stub jumps.
///
/// The stub costs two cycles. Function pointers stay as they are, so that they compare equal everywhere; objects that are
/// opened later use the stub.
fn shorten(process: &Process, ours: &Image) {
    let others = process.images().iter().filter(|image| !image.is_same(ours));
    for image in others {
        rebind::rebind(image, Which::Calls, |name| {
            if !name.to_bytes().starts_with(b"MPI") {
                return None;
            }
            let id = FnId::by_name(name.to_str().ok()?)?;
            let is_ours = process.global(name).is_some_and(|bound| ours.contains(bound)) && image.find(name).is_none();
            is_ours.then(|| entry::get(id)).flatten()
        });
    }
}

/// Points every `PMPI_*` that `image` refers to at the top of the chain.
fn rebind_profiling(image: &Image, tops: &[usize]) -> usize {
    rebind::rebind(image, Which::All, |name| {
        let id = profiling_id(name)?;
        Some(tops[id.index()]).filter(|address| *address != 0)
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

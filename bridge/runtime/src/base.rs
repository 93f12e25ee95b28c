//! Objects of the base namespace whose `PMPI_*` calls have to enter the chain.
//!
//! A PMPI tool that the application is linked with, or that is preloaded, comes first, and its `PMPI_f` starts the chain.
//! MPI's Fortran libraries are the other kind: see `fortran.rs`.

use std::ffi::CStr;
use std::sync::Arc;

use qmpi_abi::{Binding, FnId};
use qmpi_loader::image::{Image, Kind};
use qmpi_loader::rebind::{self, Which};
use qmpi_loader::{Instance, Process, log};

use crate::chain::Chain;
use crate::entry;
use crate::fortran::Fortran;

/// Rebinds the objects that need it, lets calls of the application begin at the first tool among them, and takes the detour
/// through libqmpi's entry stubs out of all calls that are bound already.
pub(crate) fn enter(process: &Arc<Process>, chain: &mut Chain, fortran: Option<&Fortran>) {
    let own = (entry::set as *const ()).addr();
    let Some(ours) = process.images().iter().find(|image| image.contains(own)) else { return };
    let tops = chain.all_pmpi();
    // What comes after the MPI library in the search order is a tool's own library: its `MPI_f` is nobody's.
    let before_mpi = process.images().iter().take_while(|image| !process.is_mpi(image));
    let mut behind_us = false;
    let mut taken = Vec::new();
    for image in before_mpi {
        behind_us |= image.is_same(ours);
        let Some(functions) = tool_functions(image).filter(|_| !image.is_same(ours)) else { continue };
        for part in with_libraries(image, process) {
            rebind_profiling(part, &tops, process);
        }
        // An object before us in the search order gets the application's calls anyway.
        for (id, address) in functions.into_iter().filter(|_| behind_us) {
            if !taken.contains(&id) {
                entry::set(id, address);
                taken.push(id);
            }
        }
    }
    shorten(process, ours);
    if let Some(fortran) = fortran {
        fortran.enter(process, ours);
    }
}

/// A tool and the libraries that it brought with it: those that it needs, and the program does not.
fn with_libraries<'a>(tool: &'a Image, process: &'a Process) -> Vec<&'a Image> {
    let images = process.images();
    let needs = |image: &Image, name: &str| image.needed().iter().any(|needed| needed.to_str() == Ok(name));
    let program = &images[0];
    let mut parts = vec![tool];
    if tool.is_same(program) {
        return parts;
    }
    let mut index = 0;
    while let Some(part) = parts.get(index).copied() {
        let new = images.iter().filter(|image| needs(part, image.name()) && !needs(program, image.name()));
        let new: Vec<&Image> = new
            .filter(|image| !process.is_shared(image.name()) && !parts.iter().any(|known| known.is_same(image)))
            .collect();
        parts.extend(new);
        index += 1;
    }
    parts
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

/// Points every `PMPI_*` that `image` refers to at the top of the chain, and look-ups by name as well.
fn rebind_profiling(image: &Image, tops: &[usize], process: &Arc<Process>) {
    let by_name = Instance::in_base(image.path(), tops, process).lookups().unwrap_or_else(|error| {
        log::fatal(&error.to_string(), error.hint().as_deref());
    });
    rebind::rebind(image, Which::All, |name| {
        if let Some((_, lookup)) = by_name.iter().find(|(known, _)| *known == name) {
            return Some(*lookup);
        }
        let id = profiling_id(name)?;
        Some(tops[id.index()]).filter(|address| *address != 0)
    });
}

fn profiling_id(name: &CStr) -> Option<FnId> {
    if !name.to_bytes().starts_with(b"PMPI") {
        return None;
    }
    let symbol = qmpi_abi::classify(name.to_str().ok()?)?;
    (symbol.profiling && symbol.binding == Binding::C).then_some(symbol.id)
}

/// The `MPI_*` functions of an object that is a PMPI tool: it defines some, and imports `PMPI_*` or looks names up.
fn tool_functions(image: &Image) -> Option<Vec<(FnId, usize)>> {
    let mut defines = Vec::new();
    let mut imports = false;
    for symbol in image.symbols() {
        if symbol.defined {
            let function = symbol.name.to_bytes().starts_with(b"MPI") && symbol.kind == Kind::Function;
            let id = function.then(|| FnId::by_name(symbol.name.to_str().ok()?)).flatten();
            defines.extend(id.map(|id| (id, symbol.address)));
        } else {
            imports |= [c"dlsym", c"dlvsym"].contains(&symbol.name) || profiling_id(symbol.name).is_some();
        }
    }
    (imports && !defines.is_empty()).then_some(defines)
}

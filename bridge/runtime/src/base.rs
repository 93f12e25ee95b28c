//! Objects of the base namespace whose `PMPI_*` calls have to enter the chain.
//!
//! A PMPI tool that the application is linked with, or that is preloaded, comes first, and its `PMPI_f` starts the chain.
//! MPI's Fortran libraries are the other kind: see `fortran.rs`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::CStr;
use std::sync::Arc;

use qmpi_abi::{Binding, FnId};
use qmpi_loader::image::{Image, Kind};
use qmpi_loader::rebind::{self, Which};
use qmpi_loader::{Instance, Process, log};

use crate::chain::{self, Chain};
use crate::entry;
use crate::fortran::Fortran;
use crate::lacking;

/// Rebinds the objects that need it, lets calls of the application begin at the first tool among them, and takes the detour
/// through libqmpi's entry stubs out of all calls that are bound already.
pub(crate) fn enter(process: &Arc<Process>, chain: &mut Chain, fortran: Option<Fortran>) {
    let Some(ours) = process.images().iter().find(|image| entry::is_ours(image)) else { return };
    let tops = chain.all_pmpi();
    let program = &process.images()[0];
    let mut taken = HashMap::new();
    let position = |image: &Image| process.images().iter().position(|other| other.is_same(image));
    for (image, functions) in tools(process) {
        let behind_us = position(image) > position(ours);
        // Inside of the program nothing tells its tool's functions from the others: the tool's calls are the first known.
        let tops = if image.is_same(program) { chain.all_entries() } else { tops.clone() };
        for part in with_libraries(image, process) {
            rebind_profiling(part, &tops, process);
        }
        for (id, address) in functions {
            let Entry::Vacant(place) = taken.entry(id) else { continue };
            let link = *place.insert(chain::recorded(address, chain.mode()));
            // Before us it gets the calls anyway, and a pointer to our function that it looked up must not lead back to it.
            if behind_us {
                entry::set(id, link);
            }
        }
    }
    shorten(process, &taken, ours);
    lacking::forget(process.images());
    if let Some(fortran) = fortran {
        fortran.enter(process, taken);
    }
}

/// The objects that the linker searches before the MPI library, without ours.
pub(crate) fn before_mpi(process: &Process) -> impl Iterator<Item = &Image> {
    process.images().iter().take_while(|image| !process.is_mpi(image)).filter(|image| !entry::is_ours(image))
}

/// The PMPI tools among the objects of the program, with the functions that they define, in search order.
///
/// What comes after the MPI library in that order is a tool's own library: its `MPI_f` is nobody's.
fn tools(process: &Process) -> impl Iterator<Item = (&Image, Vec<(FnId, usize)>)> {
    before_mpi(process).filter_map(|image| Some((image, tool_functions(image)?)))
}

/// The PMPI tools of the program with the libraries that they brought with them.
pub(crate) fn parts_of_tools(process: &Process) -> Vec<&Image> {
    tools(process).flat_map(|(image, _)| with_libraries(image, process)).collect()
}

/// Is there a PMPI tool in the program?
pub(crate) fn has_tools(process: &Process) -> bool {
    process.images().iter().any(entry::is_ours) && tools(process).next().is_some()
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

/// Points calls that are bound to an entry stub of ours directly to where the stub jumps, and those that are bound to a
/// tool of the program (`taken`) as well: that may have to note where the call came from.
///
/// The stub costs two cycles. Function pointers stay as they are, so that they compare equal everywhere; objects that are
/// opened later use the stub.
fn shorten(process: &Process, taken: &HashMap<FnId, usize>, ours: &Image) {
    let others = process.images().iter().filter(|image| !image.is_same(ours));
    for image in others {
        rebind::rebind(image, Which::Calls, |name| {
            let id = plain_id(name)?;
            if image.find(name).is_some() {
                return None;
            }
            let goes_to_us = || process.global(name).is_some_and(|bound| ours.contains(bound));
            taken.get(&id).copied().or_else(|| goes_to_us().then(|| entry::get(id)).flatten())
        });
    }
}

/// Points every `PMPI_*` that `image` refers to at the top of the chain, and look-ups by name as well.
fn rebind_profiling(image: &Image, tops: &[usize], process: &Arc<Process>) {
    let by_name = Instance::in_base(image.path(), tops, process).lookups().unwrap_or_else(|error| {
        log::fatal(&error.to_string(), error.hint().as_deref());
    });
    let count = rebind::rebind(image, Which::All, |name| {
        if let Some((_, lookup)) = by_name.iter().find(|(known, _)| *known == name) {
            return Some(*lookup);
        }
        let id = profiling_id(name)?;
        // A tool may define `PMPI_f` too, which is then what it calls.
        let is_mpi = || before_mpi(process).all(|image| image.find(name).is_none());
        Some(tops[id.index()]).filter(|address| *address != 0 && is_mpi())
    });
    log::debug(|| {
        format!("{}: {count} references enter the chain: a PMPI tool of the program", image.path().display())
    });
}

/// The function of an unshifted name; most names are told apart by their first letters.
pub(crate) fn plain_id(name: &CStr) -> Option<FnId> {
    let shape = name.to_bytes().starts_with(b"MPI") || name.to_bytes().starts_with(b"OMPI_");
    shape.then(|| FnId::by_name(name.to_str().ok()?)).flatten()
}

fn profiling_id(name: &CStr) -> Option<FnId> {
    if !name.to_bytes().starts_with(b"PMPI") {
        return None;
    }
    let symbol = qmpi_abi::classify_c(name)?;
    (symbol.profiling && symbol.binding == Binding::C).then_some(symbol.id)
}

/// The `MPI_*` functions of an object that is a PMPI tool: it defines some, and imports `PMPI_*` or looks names up.
fn tool_functions(image: &Image) -> Option<Vec<(FnId, usize)>> {
    let mut defines = Vec::new();
    let mut imports = false;
    for symbol in image.symbols() {
        if symbol.defined {
            let id = (symbol.kind == Kind::Function).then(|| plain_id(symbol.name)).flatten();
            defines.extend(id.map(|id| (id, symbol.address)));
        } else {
            imports |= [c"dlsym", c"dlvsym"].contains(&symbol.name) || profiling_id(symbol.name).is_some();
        }
    }
    (imports && !defines.is_empty()).then_some(defines)
}

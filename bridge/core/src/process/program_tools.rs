//! Tools of the program: linked with it, or preloaded.

use std::ffi::CStr;

use qmpi_abi::FnId;
use qmpi_loader::Process;
use qmpi_loader::image::{Image, SymbolKind};

use crate::name;
use crate::qmpi::registry;
use crate::ring::is_entry;

/// The objects that the linker searches before the MPI library, without ours.
pub(crate) fn before_mpi(process: &Process) -> impl Iterator<Item = &Image> {
    process.images().iter().take_while(|image| !process.is_mpi(image)).filter(|image| !is_entry(image))
}

/// The PMPI tools among the objects of the program, with the functions that they define, in search order.
///
/// What comes after the MPI library in that order is a tool's own library: references are not bound to its `MPI_f`.
pub(crate) fn all(process: &Process) -> impl Iterator<Item = (&Image, Vec<ToolFunction>)> {
    before_mpi(process).filter_map(|image| Some((image, tool_functions(image)?)))
}

/// The PMPI tools of the program with the libraries that they brought with them.
pub(crate) fn parts(process: &Process) -> Vec<&Image> {
    all(process).flat_map(|(image, _)| with_libraries(image, process)).collect()
}

/// Is there a PMPI tool in the program?
pub(crate) fn is_there(process: &Process) -> bool {
    process.images().iter().any(is_entry) && all(process).next().is_some()
}

/// A tool and the libraries that it brought with it: those that it needs, and the program does not.
pub(crate) fn with_libraries<'a>(tool: &'a Image, process: &'a Process) -> Vec<&'a Image> {
    let images = process.images();
    let needs = |image: &Image, name: &str| image.needed().iter().any(|needed| needed.to_str() == Ok(name));
    let program = &images[0];
    let mut parts = vec![tool];
    if tool == program {
        return parts;
    }
    let mut index = 0;
    while let Some(part) = parts.get(index).copied() {
        let new = images.iter().filter(|image| needs(part, image.name()) && !needs(program, image.name()));
        let new: Vec<&Image> = new.filter(|image| !process.is_shared(image.name()) && !parts.contains(image)).collect();
        parts.extend(new);
        index += 1;
    }
    parts
}

/// The QMPI tools, which are objects with an init callback, and the libraries that they brought with them.
pub(crate) fn of_qmpi_tools(process: &Process) -> Vec<&Image> {
    let callbacks = registry::callbacks();
    let is_tool = |image: &&Image| callbacks.iter().any(|callback| image.contains(*callback));
    let tools = process.images().iter().filter(is_tool);
    tools.flat_map(|image| with_libraries(image, process)).collect()
}

/// A function of a tool: which, its name, and the address that references without a version get.
type ToolFunction = (FnId, &'static CStr, usize);

/// The `MPI_*` functions of an object that is a PMPI tool: it defines some, and imports `PMPI_*` or looks names up.
fn tool_functions(image: &Image) -> Option<Vec<ToolFunction>> {
    let mut defines: Vec<ToolFunction> = Vec::new();
    let mut imports = false;
    for symbol in image.symbols() {
        if symbol.defined {
            let id = (symbol.kind == SymbolKind::Function).then(|| name::plain_id(symbol.name)).flatten();
            defines.extend(id.map(|id| (id, symbol.name, symbol.address)));
        } else {
            imports |= [c"dlsym", c"dlvsym"].contains(&symbol.name) || name::profiling_id(symbol.name).is_some();
        }
    }
    if image.has_versions() {
        // Each name stands for one function, of which the symbol table may have several versions.
        defines.sort_unstable_by_key(|(id, ..)| *id);
        defines.dedup_by_key(|(id, ..)| *id);
        for (_, name, address) in &mut defines {
            *address = image.find_unversioned(*name).map_or(*address, |symbol| symbol.address);
        }
    }
    (imports && !defines.is_empty()).then_some(defines)
}

//! Calls of `PMPI_f` that the program itself makes, and that enter the stack as its calls of `MPI_f` do.
//!
//! Not every stack wants them: `qmpi_plan::ProgramPmpi`. They are those of all objects that are there at start-up, without MPI
//! libraries, PMPI tools of the program (`base.rs` leads theirs to the top of the chain) and QMPI tools, which go past all layers.

use qmpi_dynamic::LinkerLock;
use qmpi_loader::Process;
use qmpi_loader::image::Image;
use qmpi_loader::image::rebind::{self, Which};
use qmpi_system::log;

use crate::name;
use crate::process::program_tools;
use crate::qmpi::registry;
use crate::ring::is_entry;

/// Leads the calls to where the application's calls go.
pub(crate) fn enter(lock: &LinkerLock, process: &Process, entries: &[usize]) {
    let of_tools = of_qmpi_tools(process);
    for image in process.images() {
        if process.is_mpi(image) || is_entry(image) || of_tools.iter().any(|tool| tool.is_same(image)) {
            continue;
        }
        let count = rebind::rebind(lock, image, Which::All, |reference| {
            let id = name::profiling_id(reference.name)?;
            let is_mpi = || program_tools::before_mpi(process).all(|image| image.find(reference.name).is_none());
            Some(entries[id.index()]).filter(|address| *address != 0 && is_mpi())
        });
        if count > 0 {
            log::debug(|| format!("{}: {count} references to PMPI functions enter the chain", image.path().display()));
        }
    }
}

/// The objects with an init callback, and the libraries that they brought with them.
pub(crate) fn of_qmpi_tools(process: &Process) -> Vec<&Image> {
    let callbacks = registry::callbacks();
    let is_tool = |image: &&Image| callbacks.iter().any(|callback| image.contains(*callback));
    let tools = process.images().iter().filter(is_tool);
    tools.flat_map(|image| program_tools::with_libraries(image, process)).collect()
}

//! Registration, and the init callback that makes one instance of a PMPI tool a QMPI tool.
#![expect(unsafe_code, reason = "an init_array entry")]

use std::collections::HashMap;
use std::ffi::{CString, c_int};
use std::sync::Arc;

use qmpi_abi::FnId;
use qmpi_elf::SearchPath;
use qmpi_loader::links::callback;
use qmpi_loader::links::conversion::{self, CallerMode};
use qmpi_loader::process::loader_lock;
use qmpi_loader::{Links, LoadError, Loader, OfMpi, Process, log};
use qmpi_plan::{Inspector, Layer, Place};

use crate::{configured, numbering, qmpi};

qmpi_ring::define_thread_storage!();

#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = on_load;

extern "C" fn on_load() {
    qmpi_loader::process::thread_offsets::set(thread_offsets());
    log::set_speaker(qmpi_plan::rank_from_env(&|name| std::env::var_os(name)).unwrap_or(0) == 0);
    for layer in configured::layers() {
        let Ok(name) = CString::new(layer.name.as_str()) else { continue };
        let registered = callback::with_data(initialize, Box::leak(Box::new(layer)))
            .is_ok_and(|init| qmpi::register_tool_name(&name, init));
        if !registered {
            log::warn(&format!("{}: the name cannot be registered", name.to_string_lossy()), None);
        }
    }
}

/// `MPI_Tool_init_function`, called by the MPI library once for every instance that the user asked for.
extern "C" fn initialize(tool: c_int, layer: &'static Layer) {
    if let Err(error) = set_up(tool, layer) {
        log::fatal(&format!("{}: {error}", layer.label), error.hint().as_deref());
    }
}

fn set_up(tool: c_int, layer: &'static Layer) -> Result<(), LoadError> {
    let Some(mut process) = Process::with_mpi() else { return Ok(()) };
    process.open_unwinder();
    let mut process = Arc::new(process);
    let search = SearchPath::from_process();
    let planned = qmpi_loader::plan(&mut process, layer, &mut Inspector::new(&search))?;
    let links = FnId::all().map(|id| link(tool, id, &process)).collect::<Result<Box<[usize]>, _>>()?;
    let mpi_process = Arc::clone(&process);
    let mpi = OfMpi { c: &|id| mpi_process.real(id).unwrap_or(0), fortran: &|_| None };
    let below = Links { c: &links, wrapped: &HashMap::new(), by_name: &[], fortran: &|_| None, mpi };
    let loaded =
        loader_lock::with(|writer| Loader::new(writer).load(&mut process, &planned, &below, Place::Namespace))?;
    qmpi_loader::close_files();
    qmpi::register_tool_storage(tool, loaded.instance);
    for (id, address) in loaded.entries {
        let Some(number) = numbering::number(id) else { continue };
        let link = conversion::down(address, conversion::arity(id), CallerMode::Keep)?;
        if !qmpi::register_function(tool, number, link) {
            log::warn(&format!("{}: {} cannot be intercepted", layer.label, id.name()), None);
        }
    }
    Ok(())
}

/// What the tool's `PMPI_f` is: the next QMPI tool's, found at the first call. Functions that QMPI does not number here, as
/// no tool can intercept them, are the MPI library's own.
fn link(tool: c_int, id: FnId, process: &Process) -> Result<usize, LoadError> {
    match (process.real(id), numbering::number(id)) {
        (None, _) => Ok(0),
        (Some(real), None) => Ok(real),
        (Some(_), Some(_)) => conversion::up_lazy(tool, id, next),
    }
}

fn next(owner: i32, id: FnId) -> Option<(usize, i32)> {
    qmpi::next_function(owner, numbering::number(id)?)
}

//! Registration, and the init callback that makes one instance of a PMPI tool a QMPI tool.
#![expect(unsafe_code, reason = "an init_array entry")]

use std::ffi::{CString, c_int};
use std::sync::atomic::{AtomicUsize, Ordering};

use qmpi_links::callback;
use qmpi_loader::Process;
use qmpi_loader::image::listed::Listed;
use qmpi_loader::process::loader_lock;
use qmpi_plan::{Layer, LogLevel, SettingWord, rank_from_env, variable};
use qmpi_ring::thread_offsets;
use qmpi_system::log;

use crate::{configured, instances, qmpi};

#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = on_load;

#[used]
#[unsafe(link_section = ".fini_array")]
static ON_END: extern "C" fn() = on_end;

/// How many objects the process had where none of them was an MPI; 0 elsewhere.
static WITHOUT_MPI: AtomicUsize = AtomicUsize::new(0);

/// Runs in every process of a job, most of which have no MPI: nothing is done there but to look for one.
extern "C" fn on_load() {
    if configured::path().is_none() {
        return;
    }
    let mut listed = Listed::default();
    let has_qmpi = loader_lock::with(|_| {
        qmpi::find(|| {
            listed = Listed::now();
            listed.images().to_vec()
        })
    });
    if has_qmpi {
        return register();
    }
    let count = listed.images().len();
    match loader_lock::with(|lock| Process::of(listed, lock)) {
        Some(process) => say_that_it_has_none(&process),
        None => WITHOUT_MPI.store(count, Ordering::Relaxed),
    }
}

/// Says that there is an MPI after all, which has not been seen: nothing tells this library when one is opened.
extern "C" fn on_end() {
    let count = WITHOUT_MPI.load(Ordering::Relaxed);
    if count == 0 {
        return;
    }
    let process = loader_lock::with(|lock| {
        let listed = Listed::now();
        if listed.images().len() > count { Process::of(listed, lock) } else { None }
    });
    let Some(process) = process else { return };
    if !has_qmpi(&process) {
        return say_that_it_has_none(&process);
    }
    prepare_log();
    let mpi = process.mpi_description();
    log::warn(
        &format!("{mpi} was opened after libqmpi_bridge.so, so no tool of the configuration has registered"),
        Some("preload the MPI library as well, or use libqmpi.so instead: `qmpi run -c FILE -- COMMAND`"),
    );
}

/// Registers one name for each tool of the configuration.
fn register() {
    qmpi_links::thread_offsets::set(thread_offsets());
    prepare_log();
    let mut some = false;
    for layer in configured::layers() {
        let Ok(name) = CString::new(layer.name.as_str()) else { continue };
        if qmpi::register_tool_name(&name, callback::with_data(initialize, layer)) {
            some = true;
        } else if let Some(process) = loader_lock::with(Process::with_mpi).filter(|process| !some && !has_qmpi(process))
        {
            // MPICH has the functions in any case.
            return say_that_it_has_none(&process);
        } else {
            log::warn(&format!("{}: the name cannot be registered", name.to_string_lossy()), None);
        }
    }
}

/// Does something in the process have the functions of MPI under the names that QMPI tools call?
fn has_qmpi(process: &Process) -> bool {
    process.images().iter().any(|image| image.find(c"QMPI_Finalize").is_some())
}

fn prepare_log() {
    let get = |name: &str| std::env::var_os(name);
    log::set_speaker(rank_from_env(&get).unwrap_or(0) == 0);
    // A setting that libqmpi.so would refuse is passed over: this library does not decide what the process says.
    let level = LogLevel::of_variable(variable::LOG, std::env::var(variable::LOG).ok().as_deref());
    log::set_level(level.unwrap_or_default());
}

fn say_that_it_has_none(process: &Process) {
    prepare_log();
    let mpi = process.mpi_description();
    log::warn(
        &format!("{mpi} has no QMPI of its own: libqmpi_bridge.so does nothing"),
        Some("use libqmpi.so instead: `qmpi run -c FILE -- COMMAND`"),
    );
}

/// `MPI_Tool_init_function`, called by the MPI library once for every instance that the user asked for.
extern "C" fn initialize(tool: c_int, layer: &'static Layer) {
    if let Some(text) = layer.sees_all_calls("in libqmpi_bridge.so") {
        log::warn(&text, None);
    }
    if let Err(error) = instances::load(tool, layer) {
        log::fatal(&format!("{}: {error}", layer.label), error.hint().as_deref());
    }
}

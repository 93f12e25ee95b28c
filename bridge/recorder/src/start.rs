//! How the recorder begins: it registers its name when it is opened, and is told of each instance.
#![expect(unsafe_code, reason = "a constructor")]

use std::ffi::c_int;
use std::sync::OnceLock;
use std::time::Instant;

use qmpi_system::clock;
use serde_json::json;

use crate::host_file::HostFile;
use crate::instance::RecorderInstance;
use crate::interface::{self, ProcessFacts};
use crate::record::{self, Report};
use crate::{call, log, mpi, own_cost, system, thread, trace, wrappers};

/// The version of the record; it grows when a field goes or changes its meaning.
const SCHEMA: u32 = 3;
/// Names the directory of the report.
const DIRECTORY: &str = "QMPI_REPORT";

#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = on_load;

extern "C" fn on_load() {
    interface::register_tool(add);
}

/// The init callback: a new instance.
extern "C" fn add(tool: c_int) {
    static IS_PREPARED: OnceLock<bool> = OnceLock::new();
    let Some((layer, label)) = interface::layer(tool) else { return };
    let is_prepared = *IS_PREPARED.get_or_init(|| prepare().is_some());
    if !is_prepared || !RecorderInstance::new(tool, layer, label).publish() {
        return;
    }
    for (function, wrapper) in wrappers::all() {
        interface::register(tool, function, wrapper);
    }
    record::describe();
}

/// Prepares for the first instance; `None`: there is nothing to be recorded.
fn prepare() -> Option<()> {
    let value = std::env::var_os(DIRECTORY).filter(|value| !value.is_empty())?;
    let process = ProcessFacts::get()?;
    // The program may change its directory.
    let directory = std::path::absolute(&value).unwrap_or_else(|_| value.into());
    mpi::prepare(process.abi);
    // Besides the layers there are the program and the MPI library.
    thread::prepare(process.layers + 2);
    trace::prepare(&process, &directory);
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = if host.trim().is_empty() { "unknown" } else { host.trim() };
    // In milliseconds after 1970.
    let started = clock::nanoseconds(libc::CLOCK_REALTIME) / 1_000_000;
    let file = HostFile::new(&directory, host);
    // The thread that measures has the first memory. A shell leaves no record.
    if process.has_mpi && std::fs::create_dir_all(&directory).is_ok() {
        thread::share(&file.counters, started);
    }
    system::in_child(in_child);
    call::prepare();
    let (began, cost) = ((Instant::now(), system::ticks()), own_cost::measure());
    let known = json!({
        "schema": SCHEMA,
        "rank": process.rank,
        "size": process.size,
        "host": host,
        "world": process.world,
        "started_ms": started,
        "came_to": { "finalize": false, "abort": false, "exit": false },
        // A child by `fork` has another number.
        "process": std::process::id(),
        "probe_ticks": cost,
    });
    record::start(Report { directory, file, process, began, known });
    Some(())
}

extern "C" fn in_child() {
    thread::in_child();
    log::in_child();
}

//! Start-up: when it happens, and in which order.
//!
//! With an MPI library in the process it happens as this library's constructor runs: then constructors of tools run before
//! `main`, as under `LD_PRELOAD`. Where MPI is opened later (Python) it happens at the first call of an MPI function, of
//! whatever function: `MPI_Initialized`, `MPI_Session_init` and others may come before `MPI_Init`. A process without MPI
//! (a shell, a launcher) never gets further than the look for it.
#![expect(unsafe_code, reason = "an init_array entry, and gettid")]

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use qmpi_abi::FnId;
use qmpi_elf::{ElfFile, SearchPath};
use qmpi_loader::{LoadError, Process, log};
use qmpi_stack::{OnError, Request, Stack};

use crate::chain::Chain;
use crate::finalize::{self, Station};
use crate::{base, entry, stats};

/// Not started.
const IDLE: i32 = 0;
/// Started; any other value is the thread that is at it.
const DONE: i32 = -1;

static STATE: AtomicI32 = AtomicI32::new(IDLE);

#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = on_load;

extern "C" fn on_load() {
    if Process::has_mpi() {
        ensure_started();
    }
}

/// Where the first call of function number `id` goes.
pub(crate) extern "C" fn first_call(id: usize) -> usize {
    ensure_started();
    let Some(id) = FnId::from_index(id) else { log::fatal("a call of an unknown function", None) };
    if let Some(address) = entry::get(id) {
        return address;
    }
    // Either this MPI has no such function, or a tool's constructor comes back to us while layers are being loaded.
    let process = Process::with_mpi();
    if let Some(address) = process.as_ref().and_then(|process| process.real(id)) {
        return address;
    }
    let mpi = process.as_ref().map_or("no MPI library", Process::mpi_name);
    log::fatal(
        &format!("{} was called, which {mpi} does not have", id.name()),
        Some("the program was built for a newer MPI, or for another one"),
    )
}

/// Sets everything up, unless that has happened. A thread that comes meanwhile waits.
fn ensure_started() {
    // SAFETY: takes no arguments and returns a number.
    let me = unsafe { libc::gettid() };
    match STATE.compare_exchange(IDLE, me, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            start();
            STATE.store(DONE, Ordering::Release);
        }
        Err(state) if state == me => {} // a tool's constructor calls MPI
        Err(_) => {
            while STATE.load(Ordering::Acquire) != DONE {
                std::thread::yield_now();
            }
        }
    }
}

fn start() {
    let Some(process) = Process::with_mpi() else { return };
    let mut process = Arc::new(process);
    let get = |name: &str| std::env::var_os(name);
    let rank = qmpi_stack::rank_from_env(&get);
    log::set_speaker(rank.unwrap_or(0) == 0);
    let stack = requested(&get);
    stats::prepare(&get, rank);
    let mut chain = Chain::new(&process);
    load_layers(&mut process, &stack, rank, &mut chain);
    for id in FnId::all() {
        match chain.links()[id.index()] {
            0 => {}
            address => entry::set(id, address),
        }
    }
    base::enter(&process, &chain);
}

/// The stack that the environment asks for. What is wrong with it ends the process.
fn requested(get: &dyn Fn(&str) -> Option<OsString>) -> Stack {
    let resolved = Request::from_env(get).and_then(|request| {
        log::set_level(request.log);
        request.resolve(&in_linker_path)
    });
    match resolved {
        Ok(stack) => stack,
        Err(error) => log::fatal(&error.to_string(), error.hint().as_deref()),
    }
}

fn in_linker_path(name: &str) -> Option<std::path::PathBuf> {
    let program = ElfFile::open(&std::env::current_exe().ok()?).ok()?;
    SearchPath::from_process().find(name, &program, &[])
}

/// Loads the layers from the innermost to the outermost, so that every next link exists.
fn load_layers(process: &mut Arc<Process>, stack: &Stack, rank: Option<u32>, chain: &mut Chain) {
    for skipped in &stack.skipped {
        report(&skipped.label, &skipped.error.to_string(), skipped.error.hint(), OnError::Skip);
    }
    let layers: Vec<_> = stack.layers.iter().filter(|layer| layer.on_rank(rank)).collect();
    if layers.is_empty() {
        return;
    }
    chain.watch_finalize(Station(layers.len()));
    let mut labels = Vec::new();
    for (index, layer) in layers.iter().enumerate().rev() {
        match qmpi_loader::load(process, layer, chain.links()) {
            Ok(loaded) => {
                let text = format!(
                    "{}: {} functions, {:.1} ms, {}",
                    layer.label,
                    loaded.entries.len(),
                    loaded.duration.as_secs_f64() * 1e3,
                    layer.path.display()
                );
                log::once(log::LogLevel::Info, &text);
                chain.push(loaded);
            }
            Err(error) => report_load(&layer.label, &error, stack.on_error),
        }
        chain.watch_finalize(Station(index));
        labels.insert(0, layer.label.clone());
    }
    finalize::name_layers(labels);
}

fn report_load(label: &str, error: &LoadError, on_error: OnError) {
    report(label, &error.to_string(), error.hint(), on_error);
}

fn report(label: &str, reason: &str, hint: Option<String>, on_error: OnError) {
    match on_error {
        OnError::Abort => log::fatal(&format!("{label}: {reason}"), hint.as_deref()),
        OnError::Skip => log::once(log::LogLevel::Warn, &format!("{label} is left out: {reason}")),
    }
}

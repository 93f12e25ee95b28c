//! `qmpi run --report`: what each function cost at each layer, written to the file of the host when `MPI_Finalize` or `MPI_Abort` comes to
//! the MPI library, and again when the process ends.
//!
//! Every link of the chain is preceded by a probe; without the option there are none. The file has what was measured, in ticks of the
//! time-stamp counter; what it means, and what the ranks have together, is worked out on the desk (`qmpi report`).
#![expect(unsafe_code, reason = "atexit")]

use std::ffi::CString;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use qmpi_abi::FnId;
use qmpi_links::bytes;
use qmpi_links::conversion::Arity;
use qmpi_links::observer::Notify;
use qmpi_links::probe::{self, Cost, Probe};
use qmpi_links::require_stub;
use qmpi_links::trace::Call;
use qmpi_loader::Process;
use qmpi_loader::process::dlsym;
use qmpi_system::log;

use crate::process::{program_tools, without_mpi};
use crate::report::host_file::HostFile;
use crate::report::{columns, lost_stack, trace};

/// The version of the file; it grows when a field goes or changes its meaning.
const SCHEMA: u32 = 3;

/// What is written where; `None` unless a report is asked for.
struct Report {
    directory: PathBuf,
    file: HostFile,
    host: String,
    /// What tells processes that were spawned, or started by another launcher, from the others: they have ranks of the same numbers.
    world: Option<String>,
    started: u128,
    came_to: CameTo,
    rank: u32,
    process: u32,
    /// The moment from which ticks are counted, on both clocks.
    began: (Instant, u64),
    /// Who calls and is called: the program, the MPI library, layers from the innermost outwards.
    layers: Vec<String>,
    probes: Vec<(usize, FnId, &'static Probe)>,
    /// What a probe adds to times.
    cost: Cost,
    /// Links that are not measured, as there was no room for them, or the number of their arguments is unknown.
    unmeasured: Vec<(usize, FnId)>,
}

/// How far the process came.
#[derive(Debug, Clone, Copy, Default)]
struct CameTo {
    finalize: bool,
    abort: bool,
    exit: bool,
}

static REPORT: Mutex<Option<Report>> = Mutex::new(None);

/// Prepares a report if the environment names a directory for it; `layers` is how many the stack has.
pub(crate) fn prepare(mpi: &Process, rank: Option<u32>, layers: usize) {
    let Some(value) = std::env::var_os(qmpi_plan::variable::REPORT).filter(|value| !value.is_empty()) else { return };
    // Tools of the program are layers as well.
    let layers = layers + program_tools::all(mpi).count();
    // Beside the links of all functions there may be some to their versions, and the one that is measured to know the cost of a probe.
    probe::prepare(layers + 2, (layers + 1) * (qmpi_abi::COUNT + qmpi_abi::COUNT / 4) + 1);
    // The program may change its directory.
    let directory = std::path::absolute(&value).unwrap_or_else(|_| value.into());
    let rank = rank.unwrap_or(0);
    trace::prepare(mpi, &directory, rank);
    if let Some(family) = mpi.family() {
        bytes::prepare(family, |id| mpi.real(id), &handles(mpi));
    }
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis());
    let file = HostFile::new(&directory, if host.is_empty() { "unknown" } else { host });
    // The thread that measures has the first recorder. A shell leaves no record.
    if !without_mpi::is_opened() && std::fs::create_dir_all(&directory).is_ok() {
        probe::share(file.counters(), u64::try_from(started).unwrap_or(0));
    }
    let report = Report {
        file,
        directory,
        host: host.to_owned(),
        world: qmpi_plan::WORLD_VARIABLES.iter().find_map(|name| std::env::var(name).ok()),
        started,
        came_to: CameTo::default(),
        rank,
        process: std::process::id(),
        began: (Instant::now(), probe::ticks()),
        layers: vec!["program".to_owned()],
        probes: Vec::new(),
        cost: require_stub(probe::measure_own_cost()),
        unmeasured: Vec::new(),
    };
    *REPORT.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
    // SAFETY: libqmpi_core is never unloaded, so the handler stays callable.
    unsafe { libc::atexit(at_exit) };
}

/// Objects of Open MPI whose addresses are handles. A program may have copies of them, whose addresses are the handles everywhere then.
fn handles(mpi: &Process) -> Vec<(String, usize)> {
    let address = |name: &str| dlsym::global(&CString::new(name).ok()?);
    let objects = mpi.predefined_objects().into_iter();
    objects
        .map(|(name, of_library)| (address(&name).unwrap_or(of_library), name))
        .map(|(address, name)| (name, address))
        .collect()
}

/// Starts a layer.
pub(crate) fn layer(label: &str) {
    if let Some(report) = REPORT.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        report.layers.push(label.into());
    }
}

/// All layers are there.
pub(crate) fn stack_is_built() {
    if let Some(report) = REPORT.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
        trace::complete(&report.layers, false);
        let [first, size] = probe::layout();
        let head = report.to_json(Vec::new());
        let head = head.strip_suffix('}').unwrap_or(&head);
        probe::describe(&format!("{head},\"began\":{},\"layout\":[{first},{size}]}}", report.began.1));
    }
}

/// The link to use instead of `address`, measured as one of the layer started last; `address` itself if no report is asked for.
pub(crate) fn measured(id: FnId, address: usize, arity: Arity, leading: u8) -> usize {
    let mut report = REPORT.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(report) = report.as_mut() else { return address };
    let layer = report.layers.len() - 1;
    match require_stub(Probe::recording(address, arity, layer, Call { function: id, leading })) {
        Some((probe, link)) => {
            report.probes.push((layer, id, probe));
            link
        }
        None => {
            report.unmeasured.push((layer, id));
            address
        }
    }
}

/// Watches the ways to the end, in front of the MPI library: what comes after them may be the end of the process, and exit handlers need
/// not run. `observe` puts an observer in front of a function.
pub(crate) fn observe_ends(mut observe: impl FnMut(FnId, Notify)) {
    if REPORT.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
        return;
    }
    let ends: [(&str, Notify); 2] = [("MPI_Finalize", at_finalize), ("MPI_Abort", at_abort)];
    for (name, notify) in ends {
        if let Some(id) = FnId::by_name(name) {
            observe(id, notify);
        }
    }
}

extern "C" fn at_finalize(_: usize) {
    save(|came_to| came_to.finalize = true);
}

extern "C" fn at_abort(_: usize) {
    save(|came_to| came_to.abort = true);
}

extern "C" fn at_exit() {
    save(|came_to| came_to.exit = true);
    let report = REPORT.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(report) = report.filter(|report| report.process == std::process::id()) {
        trace::complete(&report.layers, true);
        if report.is_of_rank() {
            report.say_where();
        }
    }
}

/// Writes what is known by now. The time that it takes is no layer's.
fn save(note: impl FnOnce(&mut CameTo)) {
    let began = probe::ticks();
    // Whoever comes here meanwhile, a signal handler that aborts for example, cannot wait.
    let Ok(mut report) = REPORT.try_lock() else { return };
    // A child that the process forked has counts of its parent.
    let is_own = |report: &&mut Report| report.process == std::process::id() && report.is_of_rank();
    let Some(report) = report.as_mut().filter(is_own) else { return };
    note(&mut report.came_to);
    let links = report.probes.iter().map(|(layer, id, probe)| (*layer, *id, probe.measured())).collect();
    let text = report.to_json(links);
    match report.file.put(&text, report.came_to.exit) {
        Ok(()) => probe::finish(),
        Err(error) => {
            log::report_error(&format!("{}: the report cannot be written: {error}", report.directory.display()), None);
        }
    }
    probe::leave_out(probe::ticks().wrapping_sub(began));
}

impl Report {
    /// A shell or a launcher below `mpiexec` is no rank, although it may have the stack (`processes = "all"`).
    fn is_of_rank(&self) -> bool {
        let is_called = |(_, _, probe): &(usize, FnId, &Probe)| probe.measured().callers.iter().any(|calls| *calls > 0);
        !without_mpi::is_opened() || self.probes.iter().any(is_called)
    }

    /// The job's end, for whoever started it.
    fn say_where(&self) {
        let here = std::env::current_dir().unwrap_or_default();
        let directory = self.directory.strip_prefix(&here).unwrap_or(&self.directory).display().to_string();
        let directory = if directory == "qmpi-report" { String::new() } else { format!(" {directory}") };
        let text =
            format!("measured; `qmpi report{directory}` shows it, `qmpi report{directory} --html` writes a page");
        log::once(log::LogLevel::Warn, &text);
    }

    fn to_json(&self, links: Vec<columns::Link>) -> String {
        let (elapsed, ticks) = (self.began.0.elapsed(), probe::ticks().wrapping_sub(self.began.1));
        let size = lost_stack::world_size().map_or_else(|| "null".to_owned(), |size| size.to_string());
        let layers: Vec<String> = self.layers.iter().map(|label| quoted(label)).collect();
        let mut text = format!("{{\"schema\":{SCHEMA},\"rank\":{},\"size\":{size}", self.rank);
        // Writing into a String cannot fail, here and below.
        let world = self.world.as_deref().map_or_else(|| "null".to_owned(), quoted);
        let _ = write!(text, ",\"host\":{},\"world\":{world},\"started_ms\":{}", quoted(&self.host), self.started);
        let CameTo { finalize, abort, exit } = self.came_to;
        let _ = write!(text, ",\"came_to\":{{\"finalize\":{finalize},\"abort\":{abort},\"exit\":{exit}}}");
        let _ = write!(text, ",\"process\":{},\"elapsed_ns\":{},\"ticks\":{ticks}", self.process, elapsed.as_nanos());
        let Cost { inside, outside, outside_with_bytes } = self.cost;
        let _ = write!(text, ",\"probe_ticks\":{{\"inside\":{inside:.1},\"outside\":{outside}");
        let _ = write!(text, ",\"outside_with_bytes\":{outside_with_bytes}}}");
        let _ = write!(text, ",\"threads\":{},\"threads_without\":{}", probe::threads(), probe::threads_without());
        let _ = write!(text, ",\"layers\":[{}]", layers.join(","));
        let unmeasured: Vec<String> =
            self.unmeasured.iter().map(|(layer, id)| format!("[{layer},{}]", quoted(id.name()))).collect();
        let _ = write!(text, ",\"unmeasured\":[{}],\"links\":{}}}", unmeasured.join(","), columns::json(links));
        text
    }
}

/// A string of JSON.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    #[test]
    fn strings_of_json() {
        assert_eq!(super::quoted("a \"b\"\\\n"), "\"a \\\"b\\\"\\\\\\u000a\"");
    }
}

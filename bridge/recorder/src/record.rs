//! The record of a rank: what each function cost at each layer, written to the file of the host when `MPI_Finalize` or `MPI_Abort` comes to the
//! MPI library, as what follows may be the end of the process, and again when it ends.
//!
//! It has what was measured, in ticks of the time-stamp counter; what it means, and what the ranks have together, is worked out on the desk
//! (`qmpi report`).

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use qmpi_abi::FnId;

use crate::call::{self, Cost};
use crate::host_file::HostFile;
use crate::interface::Process;
use crate::{columns, counters, edge, interface, log, mpi, system, thread, trace};

/// The version of the record; it grows when a field goes or changes its meaning.
const SCHEMA: u32 = 3;
/// Names the directory of the report.
const DIRECTORY: &str = "QMPI_REPORT";

/// What comes to the MPI library, or to the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Finalize,
    Abort,
    Exit,
}

struct Report {
    directory: PathBuf,
    file: HostFile,
    host: String,
    process: Process,
    id: u32,
    started: u128,
    /// What it has come to.
    ends: Vec<End>,
    /// The moment from which ticks are counted, on both clocks.
    began: (Instant, u64),
    cost: Cost,
}

static REPORT: Mutex<Option<Report>> = Mutex::new(None);

/// Prepares for the first instance; `false`: there is nothing to be recorded.
pub(crate) fn prepare() -> bool {
    static IS_PREPARED: OnceLock<bool> = OnceLock::new();
    *IS_PREPARED.get_or_init(|| begin().is_some())
}

fn begin() -> Option<()> {
    let value = std::env::var_os(DIRECTORY).filter(|value| !value.is_empty())?;
    let process = interface::process()?;
    // The program may change its directory.
    let directory = std::path::absolute(&value).unwrap_or_else(|_| value.into());
    mpi::prepare(process.abi);
    // Besides the layers there are the program and the MPI library.
    thread::prepare(process.layers + 2);
    trace::prepare(&process, &directory);
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis());
    let file = HostFile::new(&directory, if host.is_empty() { "unknown" } else { host });
    // The thread that measures has the first memory. A shell leaves no record.
    if process.has_mpi && std::fs::create_dir_all(&directory).is_ok() {
        counters::share(&file.counters(), u64::try_from(started).unwrap_or(0));
    }
    system::in_child(in_child);
    call::prepare();
    let (began, cost) = ((Instant::now(), system::ticks()), call::measure_own_cost());
    let (id, host, ends) = (std::process::id(), host.to_owned(), Vec::new());
    let report = Report { directory, file, host, process, id, started, ends, began, cost };
    *REPORT.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
    system::at_exit(at_exit);
    Some(())
}

extern "C" fn in_child() {
    counters::in_child();
    thread::in_child();
    log::in_child();
}

extern "C" fn at_exit() {
    save(End::Exit);
    let report = REPORT.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(report) = report.filter(Report::is_of_rank) {
        trace::complete(&layers(), true);
        report.say_where();
    }
}

/// Says what the process is, for a reader of what it leaves if it is killed.
pub(crate) fn describe() {
    let Ok(report) = REPORT.try_lock() else { return };
    let Some(report) = report.as_ref() else { return };
    let layers = layers();
    trace::complete(&layers, false);
    let head = report.to_json(&layers, &columns::json([]));
    let head = head.strip_suffix('}').unwrap_or(&head);
    let (first, size) = (thread::offset(0), thread::record_size());
    counters::describe(&format!("{head},\"began\":{},\"layout\":[{first},{size}]}}", report.began.1));
}

/// Writes what is known by now.
pub(crate) fn save(end: End) {
    // Whoever comes here meanwhile, a signal handler that aborts for example, cannot wait.
    let Ok(mut report) = REPORT.try_lock() else { return };
    let Some(report) = report.as_mut().filter(|report| report.is_of_rank()) else { return };
    report.ends.push(end);
    let text = report.to_json(&layers(), &columns::json(thread::measured()));
    match report.file.put(&text, end == End::Exit) {
        Ok(()) => counters::finish(),
        Err(error) => {
            system::say(&format!("error: {}: the report cannot be written: {error}", report.directory.display()));
        }
    }
}

/// The program, the MPI library, the layers from the innermost outwards. One that intercepts nothing has no instance in front of it.
fn layers() -> Vec<String> {
    let of_tools = interface::tools().into_iter().filter_map(interface::layer).map(|(place, label)| (place + 1, label));
    let of_edges = edge::all().map(|edge| (edge.layer, edge.label.clone()));
    let mut layers = vec!["program".to_owned()];
    for (place, label) in of_tools.chain(of_edges).filter(|(place, _)| *place > 0) {
        layers.resize(layers.len().max(place + 1), String::new());
        layers[place] = label;
    }
    layers
}

/// Functions that layers intercept and that have no wrapper: those of which the number of arguments is unknown.
fn unmeasured() -> Vec<String> {
    let variadic: Vec<FnId> = FnId::all().filter(|id| id.function().variadic).collect();
    let pairs = edge::all().flat_map(|edge| variadic.iter().map(move |id| (edge, *id)));
    let unmeasured = pairs.filter(|(edge, id)| edge.layer > 0 && interface::next(edge.tool, *id).is_some());
    unmeasured.map(|(edge, id)| format!("[{},{}]", edge.layer, quoted(id.name()))).collect()
}

impl Report {
    /// A shell or a launcher below `mpiexec` is no rank, although it may have the stack (`processes = "all"`), nor is the child of a `fork`, which has
    /// counts of its parent.
    fn is_of_rank(&self) -> bool {
        let is_called = || thread::measured().iter().any(|(_, _, all)| all.callers.iter().any(|calls| *calls > 0));
        self.id == std::process::id() && (self.process.has_mpi || is_called())
    }

    /// The job's end, for whoever started it. What all ranks would say, rank 0 says.
    fn say_where(&self) {
        let is_wanted = std::env::var("QMPI_LOG").map_or(true, |level| level != "error");
        if self.process.rank > 0 || !is_wanted {
            return;
        }
        let here = std::env::current_dir().unwrap_or_default();
        let directory = self.directory.strip_prefix(&here).unwrap_or(&self.directory).display().to_string();
        let directory = if directory == "qmpi-report" { String::new() } else { format!(" {directory}") };
        system::say(&format!(
            "measured; `qmpi report{directory}` shows it, `qmpi report{directory} --html` writes a page"
        ));
    }

    fn to_json(&self, layers: &[String], links: &str) -> String {
        let (elapsed, ticks) = (self.began.0.elapsed(), system::ticks().wrapping_sub(self.began.1));
        let (rank, size) = (self.process.rank, self.process.size());
        let mut text = format!("{{\"schema\":{SCHEMA},\"rank\":{rank},\"size\":{size}");
        // Writing into a String cannot fail, here and below.
        let world = self.process.world.as_deref().map_or_else(|| "null".to_owned(), quoted);
        let _ = write!(text, ",\"host\":{},\"world\":{world},\"started_ms\":{}", quoted(&self.host), self.started);
        let [finalize, abort, exit] = [End::Finalize, End::Abort, End::Exit].map(|end| self.ends.contains(&end));
        let _ = write!(text, ",\"came_to\":{{\"finalize\":{finalize},\"abort\":{abort},\"exit\":{exit}}}");
        let _ = write!(text, ",\"process\":{},\"elapsed_ns\":{},\"ticks\":{ticks}", self.id, elapsed.as_nanos());
        let Cost { inside, outside: [outside, with_bytes] } = self.cost;
        let _ = write!(text, ",\"probe_ticks\":{{\"inside\":{inside:.1},\"outside\":{outside}");
        let _ = write!(text, ",\"outside_with_bytes\":{with_bytes}}}");
        let _ = write!(text, ",\"threads\":{},\"threads_without\":{}", thread::all().count(), thread::without());
        let layers: Vec<String> = layers.iter().map(|label| quoted(label)).collect();
        let _ = write!(text, ",\"layers\":[{}]", layers.join(","));
        let _ = write!(text, ",\"unmeasured\":[{}],\"links\":{links}}}", unmeasured().join(","));
        text
    }
}

impl Process {
    /// How many ranks the job has, in JSON.
    pub(crate) fn size(&self) -> String {
        self.size.map_or_else(|| "null".to_owned(), |size| size.to_string())
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

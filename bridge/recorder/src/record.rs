//! The record of a rank: what each function cost at each layer, written to the file of the host when `MPI_Finalize` or `MPI_Abort` comes to the
//! MPI library, as what follows may be the end of the process, and again when it ends.
//!
//! It has what was measured, in ticks of the time-stamp counter; what it means, and what the ranks have together, is worked out on the desk
//! (`qmpi report`).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use qmpi_abi::FnId;
use qmpi_system::log::{self, LogLevel};
use serde_json::{Value, json};

use crate::host_file::HostFile;
use crate::interface::{self, ProcessFacts};
use crate::thread::Measured;
use crate::{columns, counters, instance, system, thread, trace};

/// What is known of the rank from the start, and what it has come to.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) directory: PathBuf,
    pub(crate) file: HostFile,
    pub(crate) process: ProcessFacts,
    /// The moment from which ticks are counted, on both clocks.
    pub(crate) began: (Instant, u64),
    /// The record, as far as it is known without what was measured.
    pub(crate) known: Value,
}

/// The process comes to its end: a key of `came_to` in the record.
const EXIT: &str = "exit";

static REPORT: Mutex<Option<Report>> = Mutex::new(None);

/// Writes records from now on.
pub(crate) fn start(report: Report) {
    *REPORT.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
    system::at_exit(at_exit);
}

extern "C" fn at_exit() {
    save(EXIT);
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
    let mut line = report.to_json(&layers, &BTreeMap::new());
    line["began"] = report.began.1.into();
    line["layout"] = json!([thread::offset(0), thread::record_size()]);
    counters::describe(&line.to_string());
}

/// Writes what is known by now. `ending`: what comes to the MPI library, or to the process, as a key of `came_to` in the record.
pub(crate) fn save(ending: &str) {
    // Whoever comes here meanwhile, a signal handler that aborts for example, cannot wait.
    let Ok(mut report) = REPORT.try_lock() else { return };
    let Some(report) = report.as_mut().filter(|report| report.is_of_rank()) else { return };
    report.known["came_to"][ending] = true.into();
    let text = report.to_json(&layers(), &thread::measured()).to_string();
    match report.file.put(&text, ending == EXIT) {
        Ok(()) => counters::finish(),
        Err(error) => {
            let directory = report.directory.display();
            log::report_error(&format!("{directory}: the report cannot be written: {error}"), None);
        }
    }
}

/// The program, the MPI library, the layers from the innermost outwards. One that intercepts nothing has no instance in front of it.
fn layers() -> Vec<String> {
    let of_tools = interface::tools().into_iter().filter_map(interface::layer);
    let of_instances = instance::all().map(|instance| (instance.layer, instance.label.clone()));
    let mut layers = vec!["program".to_owned()];
    for (place, label) in of_tools.chain(of_instances).filter(|(place, _)| *place > 0) {
        layers.resize(layers.len().max(place + 1), String::new());
        layers[place] = label;
    }
    layers
}

/// Functions that layers intercept and that have no wrapper, with the layer: those of which the number of arguments is unknown.
fn unmeasured() -> Vec<(usize, &'static str)> {
    let variadic = || FnId::all().filter(|id| id.function().variadic);
    let pairs = instance::all().flat_map(|instance| variadic().map(move |id| (instance, id)));
    let unmeasured = pairs.filter(|(at, id)| at.layer > 0 && interface::next(at.tool, *id).is_some());
    unmeasured.map(|(at, id)| (at.layer, id.name())).collect()
}

impl Report {
    /// A shell or a launcher below `mpiexec` is no rank, although it may have the stack (`processes = "all"`), nor is the child of a `fork`, which has
    /// counts of its parent.
    fn is_of_rank(&self) -> bool {
        self.known["process"] == std::process::id() && (self.process.has_mpi || !thread::measured().is_empty())
    }

    /// The job's end, for whoever started it. What all ranks would say, rank 0 says.
    fn say_where(&self) {
        if self.process.rank > 0 || std::env::var("QMPI_LOG").is_ok_and(|level| level == "error") {
            return;
        }
        let here = std::env::current_dir().unwrap_or_default();
        let directory = self.directory.strip_prefix(&here).unwrap_or(&self.directory).display().to_string();
        let directory = if directory == "qmpi-report" { String::new() } else { format!(" {directory}") };
        let shows = format!("`qmpi report{directory}` shows it, `qmpi report{directory} --html` writes a page");
        log::line(LogLevel::Warn, &format!("measured; {shows}"));
    }

    fn to_json(&self, layers: &[String], links: &BTreeMap<(usize, usize), Measured>) -> Value {
        let mut record = self.known.clone();
        record["elapsed_ns"] = json!(self.began.0.elapsed().as_nanos() as u64);
        record["ticks"] = json!(system::ticks().wrapping_sub(self.began.1));
        record["threads"] = json!(thread::all().count());
        record["threads_without"] = json!(thread::without());
        record["layers"] = json!(layers);
        record["unmeasured"] = json!(unmeasured());
        record["links"] = columns::json(links);
        record
    }
}

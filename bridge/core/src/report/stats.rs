//! `qmpi run --stats`: how often each function was called at each layer, printed when the process ends.
//!
//! Every link of the chain is preceded by one that counts; without the option there are none.
#![expect(unsafe_code, reason = "atexit")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use qmpi_abi::FnId;
use qmpi_links::counter::Counter;
use qmpi_links::require_stub;
use qmpi_system::{file_limit, log};

use crate::process::without_mpi;

/// One layer, or the MPI library: its label, and by function the counter of its calls, one for each link to it.
struct Column {
    label: String,
    counters: Vec<Vec<&'static Counter>>,
}

/// What is printed where; `None` unless a report is asked for.
struct Report {
    file: Option<PathBuf>,
    /// Innermost first, as the chain is built.
    columns: Vec<Column>,
}

static REPORT: Mutex<Option<Report>> = Mutex::new(None);

/// Prepares a report if the environment asks for one: `1` means stderr, anything else is a file.
///
/// Each rank of a job writes a file of its own, `FILE.RANK`; on stderr only rank 0 reports.
pub(crate) fn prepare(rank: Option<u32>) {
    let Some(value) = std::env::var_os(qmpi_plan::variable::STATS).filter(|value| !value.is_empty()) else { return };
    let file = if value == "1" {
        if rank.unwrap_or(0) != 0 {
            return;
        }
        None
    } else {
        let mut path = value;
        if let Some(rank) = rank {
            path.push(format!(".{rank}"));
        }
        // The program may change its directory.
        Some(std::path::absolute(&path).unwrap_or_else(|_| path.into()))
    };
    *REPORT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Report { file, columns: Vec::new() });
    // SAFETY: libqmpi is never unloaded, so the handler stays callable.
    unsafe { libc::atexit(at_exit) };
}

/// Starts the column of a layer.
pub(crate) fn column(label: &str) {
    if let Some(report) = REPORT.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        report.columns.push(Column { label: label.into(), counters: vec![Vec::new(); qmpi_abi::COUNT] });
    }
}

/// The link to use instead of `address`, counted in the column started last; `address` itself if no report is asked for.
pub(crate) fn counted(id: FnId, address: usize) -> usize {
    let mut report = REPORT.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(column) = report.as_mut().and_then(|report| report.columns.last_mut()) else { return address };
    let (counter, link) = require_stub(Counter::before(address));
    column.counters[id.index()].push(counter);
    link
}

extern "C" fn at_exit() {
    let report = REPORT.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(Report { file, mut columns }) = report else { return };
    // A shell or a launcher has nothing to tell.
    let is_called = |column: &Column| column.counters.iter().flatten().any(|counter| counter.calls() > 0);
    if without_mpi::is_opened() && !columns.iter().any(is_called) {
        return;
    }
    columns.reverse();
    let text = table(&columns);
    match file {
        None => text.lines().for_each(|line| log::line(log::LogLevel::Error, line)),
        Some(path) => write(&path, &text),
    }
}

fn write(path: &Path, text: &str) {
    let write = || {
        file_limit::check(text.len() as u64 + 1)?;
        std::fs::write(path, format!("{text}\n"))
    };
    if let Err(error) = write() {
        log::report_error(&format!("{}: the statistics cannot be written: {error}", path.display()), None);
    }
}

/// Functions that were called, one a line, with a column per layer from the outermost to the MPI library.
fn table(columns: &[Column]) -> String {
    let mut text = format!("{:<32}", "calls");
    for column in columns {
        let _ = write!(text, " {:>14}", column.label);
    }
    for id in FnId::all() {
        let calls = |counters: &[&Counter]| {
            (!counters.is_empty()).then(|| counters.iter().map(|counter| counter.calls()).sum())
        };
        let row: Vec<Option<u64>> = columns.iter().map(|column| calls(&column.counters[id.index()])).collect();
        if row.iter().flatten().all(|calls| *calls == 0) {
            continue;
        }
        let _ = write!(text, "\n{:<32}", id.name());
        for calls in row {
            let cell = calls.map_or_else(|| "-".to_owned(), |calls| calls.to_string());
            let _ = write!(text, " {cell:>14}");
        }
    }
    text
}

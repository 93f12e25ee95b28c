//! `qmpi run --report`: what each function cost at each layer, written to a file of the rank when the process ends.
//!
//! Every link of the chain is preceded by a probe; without the option there are none. The file has what was measured, in ticks of the
//! time-stamp counter; what it means, and what the ranks have together, is worked out on the desk (`qmpi report`).
#![expect(unsafe_code, reason = "atexit")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use qmpi_abi::FnId;
use qmpi_loader::links::conversion::Arity;
use qmpi_loader::links::probe::{self, Measured, Probe};
use qmpi_loader::links::trace::Call;
use qmpi_loader::{Process, log};

use crate::chain::or_end;
use crate::report::{lost_stack, trace};

/// The version of the file; it grows when a field goes or changes its meaning.
const SCHEMA: u32 = 1;

/// What is written where; `None` unless a report is asked for.
struct Report {
    directory: PathBuf,
    rank: u32,
    process: u32,
    /// The moment from which ticks are counted, on both clocks.
    began: (Instant, u64),
    /// Who calls and is called: the program, the MPI library, layers from the innermost outwards.
    layers: Vec<String>,
    probes: Vec<(usize, FnId, &'static Probe)>,
    /// What a probe adds to the time that it measures.
    inside: f64,
    /// Links that are not measured, as there was no room for them, or the number of their arguments is unknown.
    unmeasured: Vec<(usize, FnId)>,
}

static REPORT: Mutex<Option<Report>> = Mutex::new(None);

/// Prepares a report if the environment names a directory for it; `layers` is how many the stack has.
pub(crate) fn prepare(mpi: &Process, rank: Option<u32>, layers: usize) {
    let Some(value) = std::env::var_os(qmpi_plan::variable::REPORT).filter(|value| !value.is_empty()) else { return };
    // Beside the links of all functions there may be some to their versions, and the one that is measured to know the cost of a probe.
    probe::prepare(layers + 2, (layers + 1) * (qmpi_abi::COUNT + qmpi_abi::COUNT / 4) + 1);
    // The program may change its directory.
    let directory = std::path::absolute(&value).unwrap_or_else(|_| value.into());
    let rank = rank.unwrap_or(0);
    trace::prepare(mpi, &directory, rank);
    let report = Report {
        directory,
        rank,
        process: std::process::id(),
        began: (Instant::now(), probe::ticks()),
        layers: vec!["program".to_owned()],
        probes: Vec::new(),
        inside: or_end(probe::measure_own_cost()),
        unmeasured: Vec::new(),
    };
    *REPORT.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
    // SAFETY: libqmpi_core is never unloaded, so the handler stays callable.
    unsafe { libc::atexit(at_exit) };
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
    }
}

/// The link to use instead of `address`, measured as one of the layer started last; `address` itself if no report is asked for.
pub(crate) fn measured(id: FnId, address: usize, arity: Arity, leading: u8) -> usize {
    let mut report = REPORT.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(report) = report.as_mut() else { return address };
    let layer = report.layers.len() - 1;
    match or_end(Probe::recording(address, arity, layer, Call { function: id, leading })) {
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

extern "C" fn at_exit() {
    let report = REPORT.lock().unwrap_or_else(PoisonError::into_inner).take();
    // A child that the process forked has counts of its parent.
    let Some(report) = report.filter(|report| report.process == std::process::id()) else { return };
    trace::complete(&report.layers, true);
    let text = report.to_json();
    if let Err(error) = write(&report.directory, report.rank, &text) {
        log::report_error(&format!("{}: the report cannot be written: {error}", report.directory.display()), None);
    }
}

/// The file appears at once and whole.
fn write(directory: &Path, rank: u32, text: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    let path = directory.join(format!("rank-{rank}.json"));
    let part = directory.join(format!("rank-{rank}.json.{}", std::process::id()));
    std::fs::write(&part, text)?;
    std::fs::rename(&part, &path)
}

impl Report {
    fn to_json(&self) -> String {
        let (elapsed, ticks) = (self.began.0.elapsed(), probe::ticks().wrapping_sub(self.began.1));
        let size = lost_stack::world_size().map_or_else(|| "null".to_owned(), |size| size.to_string());
        let layers: Vec<String> = self.layers.iter().map(|label| quoted(label)).collect();
        let mut text = format!("{{\"schema\":{SCHEMA},\"rank\":{},\"size\":{size}", self.rank);
        // Writing into a String cannot fail, here and below.
        let _ = write!(text, ",\"process\":{},\"elapsed_ns\":{},\"ticks\":{ticks}", self.process, elapsed.as_nanos());
        let _ = write!(text, ",\"probe_ticks\":{{\"inside\":{},\"outside\":{}}}", self.inside, probe::cost_outside());
        let _ = write!(text, ",\"threads\":{},\"threads_without\":{}", probe::threads(), probe::threads_without());
        let _ = write!(text, ",\"layers\":[{}]", layers.join(","));
        let unmeasured: Vec<String> =
            self.unmeasured.iter().map(|(layer, id)| format!("[{layer},{}]", quoted(id.name()))).collect();
        let _ = write!(text, ",\"unmeasured\":[{}],\"links\":[", unmeasured.join(","));
        let mut before = "";
        for (layer, id, probe) in &self.probes {
            let measured = probe.measured();
            if measured.callers.iter().any(|calls| *calls > 0) {
                let _ = write!(text, "{before}\n{}", link(*layer, *id, &measured));
                before = ",";
            }
        }
        text.push_str("\n]}\n");
        text
    }
}

fn link(layer: usize, id: FnId, measured: &Measured) -> String {
    let callers: Vec<String> = measured.callers.iter().map(u64::to_string).collect();
    let histogram = measured.histogram.iter().enumerate().filter(|(_, count)| **count > 0);
    let histogram: Vec<String> = histogram.map(|(bits, count)| format!("[{bits},{count}]")).collect();
    format!(
        "{{\"layer\":{layer},\"function\":{},\"callers\":[{}],\"inclusive\":{},\"own\":{},\"longest\":{},\"histogram\":[{}]}}",
        quoted(id.name()),
        callers.join(","),
        measured.inclusive,
        // Differences of unsigned words: a negative one is a time that was left early.
        measured.own.cast_signed(),
        measured.longest,
        histogram.join(","),
    )
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

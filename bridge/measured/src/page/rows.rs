//! Rows of the page's tables: each cell as it is shown, and the number that it is sorted by.

use serde::Serialize;

use crate::bytes::{self, PassedOn};
use crate::job::{MeasuredFunction, MeasuredJob, MeasuredLayer};
use crate::page::times;
use crate::tables::{a_call, time};

/// A number as it is shown, and as it is sorted.
#[derive(Debug, Clone, Serialize)]
pub(super) struct SortedCell {
    pub(super) text: String,
    pub(super) value: f64,
}

impl SortedCell {
    pub(super) fn time(ns: f64) -> Self {
        Self { text: time(ns), value: ns }
    }

    fn count(count: u64) -> Self {
        Self { text: grouped(count), value: count as f64 }
    }

    fn share(share: f64) -> Self {
        Self { text: percent(share), value: share }
    }

    fn a_call(ns: f64, calls: u64) -> Self {
        Self { text: a_call(ns, calls), value: ns / calls.max(1) as f64 }
    }
}

/// Own time, however it is looked at.
#[derive(Debug, Serialize)]
struct Own {
    sum: SortedCell,
    share: SortedCell,
    a_call: SortedCell,
    least: SortedCell,
    most: SortedCell,
    rank: u32,
}

impl Own {
    fn of(job: &MeasuredJob, own: &crate::job::TimeSpread, calls: u64) -> Self {
        Self {
            sum: SortedCell::time(own.sum_ns),
            share: SortedCell::share(job.share(own.sum_ns)),
            a_call: SortedCell::a_call(own.sum_ns, calls),
            least: SortedCell::time(own.min_ns),
            most: SortedCell::time(own.max_ns),
            rank: own.max_rank,
        }
    }
}

/// What a layer costs.
#[derive(Debug, Serialize)]
pub(super) struct LayerRow {
    label: String,
    is_mpi: bool,
    calls_in: SortedCell,
    calls_out: SortedCell,
    own: Own,
}

impl LayerRow {
    pub(super) fn all(job: &MeasuredJob) -> Vec<Self> {
        let row = |(place, layer): (usize, &MeasuredLayer)| Self {
            label: layer.label.clone(),
            is_mpi: place + 1 == job.layers.len(),
            calls_in: SortedCell::count(layer.calls_in),
            calls_out: SortedCell::count(layer.calls_out),
            own: Own::of(job, &layer.own, layer.calls_in),
        };
        job.layers.iter().enumerate().skip(1).map(row).collect()
    }
}

/// What layers make of the calls of one function.
#[derive(Debug, Serialize)]
pub(super) struct CallRow {
    function: String,
    /// Does a layer make another number of calls than come to it?
    is_changed: bool,
    cells: Vec<CallCell>,
}

#[derive(Debug, Serialize)]
struct CallCell {
    text: String,
    /// The same in words.
    title: String,
    value: u64,
    is_changed: bool,
}

impl CallRow {
    /// Those that are called most come first.
    pub(super) fn all(job: &MeasuredJob) -> Vec<Self> {
        let row = |name: &str| {
            let cells: Vec<CallCell> = (0..job.layers.len()).map(|place| CallCell::of(job, place, name)).collect();
            Self { function: name.to_owned(), is_changed: cells.iter().any(|cell| cell.is_changed), cells }
        };
        job.functions_by_calls().into_iter().map(row).collect()
    }
}

impl CallCell {
    fn of(job: &MeasuredJob, place: usize, function: &str) -> Self {
        let calls = PassedOn::of_calls(job, place, function);
        let label = &job.layers[place].label;
        let title = match (calls.comes_in, calls.goes_out) {
            (0, 0) => String::new(),
            (_, out) if place == 0 => format!("The program makes {out}"),
            (calls, _) if place + 1 == job.layers.len() => format!("{calls} arrive at the MPI library"),
            (calls, out) if calls == out => format!("{label} passes all {calls} on"),
            (0, out) => format!("{label} makes {out} of its own"),
            (calls, out) => format!("{calls} come to {label}, and it makes {out}"),
        };
        Self { text: calls.text(grouped), title, value: calls.value(), is_changed: calls.is_changed() }
    }
}

/// Bytes that calls of one function move one way.
#[derive(Debug, Serialize)]
pub(super) struct BytesRow {
    function: String,
    way: &'static str,
    is_changed: bool,
    cells: Vec<CallCell>,
}

impl BytesRow {
    /// Those that move the most come first.
    pub(super) fn all(job: &MeasuredJob) -> Vec<Self> {
        let cell = |(layer, cell): (&MeasuredLayer, &PassedOn)| {
            let (comes_in, goes_out) = (grouped(cell.comes_in), grouped(cell.goes_out));
            let title = match (cell.comes_in, cell.goes_out) {
                (0, 0) => String::new(),
                (0, _) => format!("{goes_out} bytes, in calls of {}", layer.label),
                (_, 0) => format!("{comes_in} bytes, in calls that come to {}", layer.label),
                (bytes, out) if bytes == out => format!("{comes_in} bytes, which {} passes on", layer.label),
                _ => format!("{comes_in} bytes come to {}, and {goes_out} go on", layer.label),
            };
            CallCell { text: cell.text(bytes::size), title, value: cell.value(), is_changed: cell.is_changed() }
        };
        let row = |row: bytes::MovedRow<'_>| Self {
            function: row.function.to_owned(),
            way: row.way,
            is_changed: row.cells.iter().any(PassedOn::is_changed),
            cells: job.layers.iter().zip(&row.cells).map(cell).collect(),
        };
        bytes::rows(job).into_iter().map(row).collect()
    }
}

/// A function at a layer.
#[derive(Debug, Serialize)]
pub(super) struct FunctionRow {
    function: String,
    layer: String,
    calls: SortedCell,
    own: Own,
    half: SortedCell,
    longest: SortedCell,
    /// A line of small bars.
    bars: String,
}

impl FunctionRow {
    /// Those that take the most time come first.
    pub(super) fn all(job: &MeasuredJob) -> Vec<Self> {
        let range = times::range(job);
        let row = |(layer, name, function): (&MeasuredLayer, &str, &MeasuredFunction)| Self {
            function: name.to_owned(),
            layer: layer.label.clone(),
            calls: SortedCell::count(function.calls_in),
            own: Own::of(job, &function.own, function.calls_in),
            half: SortedCell::time(times::half(function)),
            longest: SortedCell::time(function.longest_ns),
            bars: times::bars(function, range),
        };
        job.functions_by_time().into_iter().map(row).collect()
    }
}

/// `1,234,567`
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share of percent: `96.3 %`, `0.02 %`, `< 0.01 %`.
pub(super) fn percent(share: f64) -> String {
    match share {
        share if share <= 0.0 => "0 %".to_owned(),
        share if share < 0.01 => "< 0.01 %".to_owned(),
        share if share < 10.0 => format!("{share:.2} %"),
        share => format!("{share:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.0, 0.003, 0.02, 9.5, 96.28].map(percent), ["0 %", "< 0.01 %", "0.02 %", "9.50 %", "96.3 %"]);
    }
}

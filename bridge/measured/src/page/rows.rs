//! Rows of the page's tables: each cell as it is shown, and the number that it is sorted by.

use minijinja::{Value, context};

use crate::bytes::{self, PassedOn};
use crate::job::{MeasuredFunction, MeasuredJob, MeasuredLayer, TimeSpread};
use crate::page::times;
use crate::tables::{a_call, time};

/// A number as it is shown, and as it is sorted.
pub(super) fn cell(text: String, value: f64) -> Value {
    context! { text, value }
}

pub(super) fn time_cell(ns: f64) -> Value {
    cell(time(ns), ns)
}

fn count_cell(count: u64) -> Value {
    cell(grouped(count), count as f64)
}

/// Own time, however it is looked at.
fn own_time(job: &MeasuredJob, own: &TimeSpread, calls: u64) -> Value {
    let share = job.share(own.sum_ns);
    context! {
        sum => time_cell(own.sum_ns),
        share => cell(percent(share), share),
        a_call => cell(a_call(own.sum_ns, calls), own.sum_ns / calls.max(1) as f64),
        least => time_cell(own.min_ns),
        most => time_cell(own.max_ns),
        rank => own.max_rank,
    }
}

/// What each layer costs.
pub(super) fn layers(job: &MeasuredJob) -> Vec<Value> {
    let row = |(place, layer): (usize, &MeasuredLayer)| {
        context! {
            label => layer.label,
            is_mpi => place + 1 == job.layers.len(),
            calls_in => count_cell(layer.calls_in),
            calls_out => count_cell(layer.calls_out),
            own => own_time(job, &layer.own, layer.calls_in),
        }
    };
    job.layers.iter().enumerate().skip(1).map(row).collect()
}

/// What a layer makes of calls or bytes; `title` says the same in words.
fn passed_on(passed_on: &PassedOn, shown: fn(u64) -> String, title: String) -> Value {
    let (text, value, is_changed) = (passed_on.text(shown), passed_on.value(), passed_on.is_changed());
    context! { text, title, value, is_changed }
}

/// What layers make of the calls of each function, of those first that are called most.
pub(super) fn calls(job: &MeasuredJob) -> Vec<Value> {
    let title = |place: usize, calls: &PassedOn| {
        let label = &job.layers[place].label;
        // It is shown where the layer changes something.
        match (calls.comes_in, calls.goes_out) {
            (0, out) => format!("{label} makes {out} of its own"),
            (calls, out) => format!("{calls} come to {label}, and it makes {out}"),
        }
    };
    let row = |function: &str| {
        let calls: Vec<_> = (0..job.layers.len()).map(|place| PassedOn::of_calls(job, place, function)).collect();
        let cells = calls.iter().enumerate().map(|(place, calls)| passed_on(calls, grouped, title(place, calls)));
        let cells = cells.collect::<Vec<_>>();
        context! { function, is_changed => calls.iter().any(PassedOn::is_changed), cells }
    };
    job.functions_by_calls().into_iter().map(row).collect()
}

/// Bytes that calls of each function move one way, of those first that move the most.
pub(super) fn bytes(job: &MeasuredJob) -> Vec<Value> {
    let cell = |(layer, cell): (&MeasuredLayer, &PassedOn)| {
        let (comes_in, goes_out) = (grouped(cell.comes_in), grouped(cell.goes_out));
        let title = match (cell.comes_in, cell.goes_out) {
            (0, 0) => String::new(),
            (0, _) => format!("{goes_out} bytes, in calls of {}", layer.label),
            (_, 0) => format!("{comes_in} bytes, in calls that come to {}", layer.label),
            (bytes, out) if bytes == out => format!("{comes_in} bytes, which {} passes on", layer.label),
            _ => format!("{comes_in} bytes come to {}, and {goes_out} go on", layer.label),
        };
        passed_on(cell, bytes::size, title)
    };
    let row = |row: bytes::MovedRow<'_>| {
        context! {
            function => row.function,
            way => row.way,
            is_changed => row.cells.iter().any(PassedOn::is_changed),
            cells => job.layers.iter().zip(&row.cells).map(cell).collect::<Vec<_>>(),
        }
    };
    bytes::rows(job).into_iter().map(row).collect()
}

/// Functions at layers, those first that take the most time.
pub(super) fn functions(job: &MeasuredJob) -> Vec<Value> {
    let range = times::range(job);
    let row = |(layer, name, function): (&MeasuredLayer, &str, &MeasuredFunction)| {
        context! {
            function => name,
            layer => layer.label,
            calls => count_cell(function.calls_in),
            own => own_time(job, &function.own, function.calls_in),
            half => time_cell(times::half(function)),
            longest => time_cell(function.longest_ns),
            bars => times::bars(function, range),
        }
    };
    job.functions_by_time().into_iter().map(row).collect()
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

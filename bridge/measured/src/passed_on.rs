//! What comes to each layer, and what it makes of it, of calls and of the bytes that they move: rows for the tables of a terminal and of the page.

use std::collections::BTreeMap;

use crate::job::{MeasuredFunction, MeasuredJob, MeasuredLayer};
use crate::rank_record::MovedBytes;

/// A function.
#[derive(Debug)]
pub(crate) struct PassedRow<'a> {
    pub(crate) function: &'a str,
    /// Which way its bytes go, `sent` or `received`; `None`: these are its calls.
    pub(crate) way: Option<&'static str>,
    /// One for each layer.
    pub(crate) cells: Vec<PassedOn>,
}

/// Calls or bytes that come to a layer, and those that go out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PassedOn {
    pub(crate) comes_in: u64,
    pub(crate) goes_out: u64,
    /// The program, to which nothing comes, or the MPI library, which passes nothing on.
    pub(crate) is_end: bool,
}

type Way = fn(&MovedBytes) -> u64;

const WAYS: [(&str, Way); 2] = [("sent", |bytes| bytes.sent), ("received", |bytes| bytes.received)];

/// Calls of functions, of those first that are called most often.
pub(crate) fn calls(job: &MeasuredJob) -> Vec<PassedRow<'_>> {
    let calls = |measured: &MeasuredFunction| (measured.calls_in, measured.calls_out);
    let row = |function| PassedRow { function, way: None, cells: PassedOn::at_layers(job, function, calls) };
    job.functions_by_calls().into_iter().map(row).collect()
}

/// Bytes that functions move, of those first that move the most.
pub(crate) fn bytes(job: &MeasuredJob) -> Vec<PassedRow<'_>> {
    let mut most: BTreeMap<(&str, usize), u64> = BTreeMap::new();
    for (_, name, function) in job.functions() {
        for (place, (_, way)) in WAYS.iter().enumerate() {
            let known = most.entry((name, place)).or_default();
            *known = way(&function.bytes_in).max(way(&function.bytes_out)).max(*known);
        }
    }
    let mut order: Vec<_> = most.into_iter().filter(|(_, bytes)| *bytes > 0).collect();
    order.sort_by_key(|(key, bytes)| (std::cmp::Reverse(*bytes), *key));
    let rows = order.into_iter().map(|((function, place), _)| {
        let (name, way) = WAYS[place];
        let bytes = |measured: &MeasuredFunction| (way(&measured.bytes_in), way(&measured.bytes_out));
        PassedRow { function, way: Some(name), cells: PassedOn::at_layers(job, function, bytes) }
    });
    rows.collect()
}

impl PassedOn {
    /// What each layer makes of a function's calls or bytes.
    fn at_layers(job: &MeasuredJob, function: &str, what: impl Fn(&MeasuredFunction) -> (u64, u64)) -> Vec<Self> {
        let of = |(place, layer): (usize, &MeasuredLayer)| {
            let (comes_in, goes_out) = layer.functions.get(function).map_or((0, 0), &what);
            Self { comes_in, goes_out, is_end: place == 0 || place + 1 == job.layers.len() }
        };
        job.layers.iter().enumerate().map(of).collect()
    }

    /// `400 B`, `400 B → 300 B`, `+300 B`, with numbers as `shown` writes them; empty for none.
    pub(crate) fn text(&self, shown: impl Fn(u64) -> String) -> String {
        match (self.comes_in, self.goes_out) {
            (0, 0) => String::new(),
            (0, number) | (number, 0) if self.is_end => shown(number),
            (number, out) if number == out => shown(number),
            (0, out) => format!("+{}", shown(out)),
            (number, out) => format!("{} → {}", shown(number), shown(out)),
        }
    }

    /// Whether the layer makes something else of it.
    pub(crate) fn is_changed(&self) -> bool {
        !self.is_end && self.comes_in != self.goes_out
    }
}

/// A number of bytes in the unit that leaves up to three digits before the point.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let (mut number, mut unit) = (bytes as f64 / 1e3, 0);
    // What would be shown as 1000.00.
    while number >= 999.995 {
        (number, unit) = (number / 1e3, unit + 1);
    }
    format!("{number:.2} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_readable() {
        assert_eq!(
            [0, 999, 1000, 999_994, 999_996, 1_234_567, u64::MAX].map(size),
            ["0 B", "999 B", "1.00 kB", "999.99 kB", "1.00 MB", "1.23 MB", "18.45 EB"]
        );
    }

    #[test]
    fn cells_say_what_a_layer_does() {
        let of = |comes_in, goes_out, is_end| PassedOn { comes_in, goes_out, is_end }.text(size);
        assert_eq!(of(0, 40, true), "40 B");
        assert_eq!(of(40, 0, true), "40 B");
        assert_eq!(of(40, 0, false), "40 B → 0 B");
        assert_eq!(of(0, 40, false), "+40 B");
        assert_eq!(of(40, 40, false), "40 B");
    }
}

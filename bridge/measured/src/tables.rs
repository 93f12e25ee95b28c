//! What a job measured, as tables for a terminal.

use std::fmt::Write;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table, TableComponent};

use crate::job::{MeasuredFunction, MeasuredJob, MeasuredLayer, TimeSpread};
use crate::notes;
use crate::passed_on::{self, PassedRow};

/// Rows of a table without `--all`.
const ROWS: usize = 20;

/// The columns of [`own_time`].
const OWN_TIME: [&str; 6] = ["own time", "of the run", "a call", "least on a rank", "most", "on rank"];

/// Everything, with a sentence above each table.
pub fn tables(job: &MeasuredJob, all: bool) -> String {
    let here = job.size as usize - job.missing.len();
    let run = time(job.elapsed_ns as f64 / here.max(1) as f64);
    let mut text = with_notes(job, format!("{here} of {} ranks, {run} each on average.", job.size));
    let bytes = passed_on::bytes(job);
    // Writing into a String cannot fail, here and below.
    let mut show = |head: &str, table: Table| {
        let _ = writeln!(text, "\n{head}\n{table}");
    };
    show("What each layer costs. Own time is time in the layer itself, without the layers below.", costs(job));
    show(
        "Calls of each function, and what layers make of them. 4 → 6: of 4 that come in it makes 6; +2: it makes 2 of its own.",
        passed_on(job, &passed_on::calls(job), |calls| calls.to_string(), all),
    );
    if !bytes.is_empty() {
        show(
            "Bytes that these calls send, and the room that they have for what they receive, where their arguments tell.",
            passed_on(job, &bytes, passed_on::size, all),
        );
    }
    show("Where the time goes: own time of each function at each layer.", times(job, all));
    let _ = writeln!(
        text,
        "\nMeasuring cost {} a call and layer{}, which is not in these numbers.{}",
        time(job.probe_ns),
        if bytes.is_empty() { String::new() } else { format!(", {} with bytes", time(job.probe_with_bytes_ns)) },
        if all { "" } else { " `--all` shows all functions, `--json` all numbers of all ranks." }
    );
    for what in job.unmeasured.iter().filter(|what| !what.starts_with("MPI_Pcontrol ")) {
        let _ = writeln!(text, "Not measured: {what}.");
    }
    job.blind_spots().for_each(|sentence| text.extend([&sentence, "\n"]));
    text
}

/// How often each function came to each layer, and what the layers make of the calls.
pub fn call_table(job: &MeasuredJob) -> String {
    let head = format!("Calls on {} of {} ranks.", job.size as usize - job.missing.len(), job.size);
    let calls = passed_on(job, &passed_on::calls(job), |calls| calls.to_string(), true);
    format!("{}{calls}\n", with_notes(job, head))
}

/// A line, and what is to be known of the ranks.
fn with_notes(job: &MeasuredJob, head: String) -> String {
    std::iter::once(head).chain(notes::all(job)).map(|line| line + "\n").collect()
}

/// A table for a terminal: the first column is text, the others numbers.
fn table<'a>(head: impl IntoIterator<Item = &'a str>) -> Table {
    let mut table = Table::new();
    table.load_preset(UTF8_HORIZONTAL_ONLY).set_header(head);
    // A line below the head, none below each row.
    table.remove_style(TableComponent::HorizontalLines).remove_style(TableComponent::MiddleIntersections);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Adds rows, or without `all` the first ones and how many more there are.
fn add_rows<R: IntoIterator<Item = String>>(table: &mut Table, rows: impl ExactSizeIterator<Item = R>, all: bool) {
    let (count, limit) = (rows.len(), if all { usize::MAX } else { ROWS });
    for row in rows.take(limit) {
        table.add_row(row);
    }
    if count > limit {
        table.add_row([format!("... {} more", count - limit)]);
    }
}

fn costs(job: &MeasuredJob) -> Table {
    let mut rows = table(["layer", "calls in", "calls out"].into_iter().chain(OWN_TIME));
    for layer in job.layers.iter().skip(1) {
        let calls = [layer.label.clone(), layer.calls_in.to_string(), layer.calls_out.to_string()];
        rows.add_row(calls.into_iter().chain(own_time(job, &layer.own, layer.calls_in)));
    }
    rows
}

/// The cells below [`OWN_TIME`].
fn own_time(job: &MeasuredJob, own: &TimeSpread, calls: u64) -> [String; 6] {
    [
        time(own.sum_ns),
        format!("{:.2} %", job.share(own.sum_ns)),
        a_call(own.sum_ns, calls),
        time(own.min_ns),
        time(own.max_ns),
        own.max_rank.to_string(),
    ]
}

/// What layers make of the calls of each function, or of the bytes that they move: a row for each.
fn passed_on(job: &MeasuredJob, rows: &[PassedRow<'_>], shown: fn(u64) -> String, all: bool) -> Table {
    let has_ways = rows.iter().any(|row| row.way.is_some());
    let labels = job.layers.iter().map(|layer| layer.label.as_str());
    let mut table = table(["function"].into_iter().chain(has_ways.then_some("bytes")).chain(labels));
    if let Some(column) = table.column_mut(1).filter(|_| has_ways) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    let row = |row: &PassedRow<'_>| {
        let names = [row.function].into_iter().chain(row.way).map(str::to_owned);
        names.chain(row.cells.iter().map(|cell| cell.text(shown))).collect::<Vec<_>>()
    };
    add_rows(&mut table, rows.iter().map(row), all);
    table
}

fn times(job: &MeasuredJob, all: bool) -> Table {
    let functions = job.functions_by_time();
    let mut rows = table(["function", "layer", "calls"].into_iter().chain(OWN_TIME));
    let row = |(layer, name, function): (&MeasuredLayer, &str, &MeasuredFunction)| {
        let calls = [name.to_owned(), layer.label.clone(), function.calls_in.to_string()];
        calls.into_iter().chain(own_time(job, &function.own, function.calls_in))
    };
    add_rows(&mut rows, functions.into_iter().map(row), all);
    rows
}

/// The time of one of so many calls.
pub fn a_call(time_ns: f64, calls: u64) -> String {
    if calls == 0 { String::new() } else { time(time_ns / calls as f64) }
}

/// A time in the unit that leaves up to three digits before the point.
pub fn time(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.2} µs", ns / 1e3),
        ns if ns < 1e9 => format!("{:.2} ms", ns / 1e6),
        ns if ns < 120e9 => format!("{:.2} s", ns / 1e9),
        ns if ns < 7200e9 => format!("{:.1} min", ns / 60e9),
        ns => format!("{:.1} h", ns / 3600e9),
    }
}

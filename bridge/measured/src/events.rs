//! The calls that a job recorded: lines of text, or events for Perfetto and Chrome.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use serde_json::{Value as Json, json};

use crate::MeasuredError;
use crate::trace::{Lines, RecordedCall, Recording, each};

/// A part for each rank of the directory, a line for each call: seconds since the job's first call, the thread if there are several, who calls
/// whom, and the call, deeper by two places where it is inside of another. With `has_sites`, where the program made it, too.
///
/// # Errors
/// [`MeasuredError::Report`] if the directory has no trace, or one that is not understood.
pub fn text(directory: &Path, has_sites: bool) -> Result<String, MeasuredError> {
    let (mut text, mut lines, began) = (String::new(), Lines::default(), began(directory)?);
    each(directory, |trace| {
        // Writing into a String cannot fail, here and below.
        let _ = writeln!(
            text,
            "rank {} (process {}, {}): {}",
            trace.file.head.rank,
            trace.file.head.process,
            trace.file.head.mpi,
            trace.layers().join(" > ")
        );
        let width = trace.layers().iter().map(|layer| layer.chars().count()).max().unwrap_or(0);
        let has_threads = trace.outlines().any(|call| call.thread > 0);
        for call in trace.calls() {
            let seconds = call.start_ns.saturating_sub(began) as f64 / 1e9;
            let thread = if has_threads { format!(" t{:<3}", call.thread) } else { String::new() };
            let (caller, layer) = (label(trace, call.caller), label(trace, call.layer));
            let deep = 2 * call.depth;
            let site = call.site.as_ref().filter(|_| has_sites).map(|site| format!(" at {}", lines.name(site)));
            let site = site.unwrap_or_default();
            let _ = writeln!(text, "{seconds:12.6}{thread} {caller:>width$} > {layer:width$} {:deep$}{call}{site}", "");
        }
        for what in missing(trace) {
            let _ = writeln!(text, "{what}");
        }
    })?;
    Ok(text)
}

fn label<'a>(trace: &'a Recording<'_>, layer: usize) -> &'a str {
    trace.layers().get(layer).map_or("?", String::as_str)
}

fn began(directory: &Path) -> Result<u64, MeasuredError> {
    let mut began = None;
    each(directory, |trace| {
        began = trace.outlines().map(|call| call.start_ns).chain(began).min();
    })?;
    Ok(began.unwrap_or(0))
}

/// What the trace of a rank does not have.
fn missing(trace: &Recording<'_>) -> Vec<String> {
    let mut all = Vec::new();
    let limit = &trace.file.head.calls;
    for (layer, calls) in trace.file.beyond_limit.iter().filter(|(_, calls)| **calls > 0) {
        let which = if limit.starts_with("last") { "earlier" } else { "further" };
        all.push(format!("{calls} {which} calls at {} are not recorded ({limit})", label(trace, *layer)));
    }
    match trace.file.head.lost {
        None => all.push("the process did not end by itself: this is what it recorded before".to_owned()),
        Some(0) => {}
        Some(lost) => all.push(format!("{lost} calls are lost: there was no room for them")),
    }
    all
}

/// Events in Chrome's trace format: a process is a rank, a row of it a thread and layer.
///
/// # Errors
/// [`MeasuredError::Report`] if the directory has no trace, or one that is not understood.
pub fn events(directory: &Path) -> Result<Json, MeasuredError> {
    let (mut lines, began) = (Lines::default(), began(directory)?);
    let (mut events, mut number) = (Vec::new(), 0);
    each(directory, |trace| {
        let mut name = |row: Option<usize>, name: String, place: usize| {
            let kind = if row.is_some() { "thread" } else { "process" };
            for (what, arguments) in [("name", json!({"name": name})), ("sort_index", json!({"sort_index": place}))] {
                let mut event = json!({"ph": "M", "name": format!("{kind}_{what}"), "pid": number, "args": arguments});
                if let Some(row) = row {
                    event["tid"] = row.into();
                }
                events.push(event);
            }
        };
        name(None, format!("rank {} (process {})", trace.file.head.rank, trace.file.head.process), number);
        let rows: BTreeSet<(u32, usize)> = trace.outlines().map(|call| (call.thread, call.layer)).collect();
        for (thread, layer) in rows {
            let row = row(trace, thread, layer);
            let thread = if thread == 0 { String::new() } else { format!(" (thread {thread})") };
            name(Some(row), format!("{}{thread}", label(trace, layer)), row);
        }
        events.extend(trace.calls().map(|call| event(trace, number, &call, began, &mut lines)));
        number += 1;
    })?;
    Ok(json!({"displayTimeUnit": "ns", "traceEvents": events}))
}

/// The number of a row, from 1.
fn row(trace: &Recording<'_>, thread: u32, layer: usize) -> usize {
    thread as usize * trace.layers().len() + layer
}

fn event(trace: &Recording<'_>, process: usize, call: &RecordedCall, began: u64, lines: &mut Lines) -> Json {
    let mut arguments = json!({});
    for argument in &call.arguments {
        let text = argument.to_string();
        arguments[argument.name] = json!(text.strip_prefix(&format!("{}=", argument.name)).unwrap_or(&text));
    }
    arguments["caller"] = json!(label(trace, call.caller));
    if let Some(site) = &call.site {
        arguments["site"] = json!(lines.name(site));
    }
    if let Some(result) = &call.result {
        arguments["result"] = json!(result.to_string());
    }
    // Both ends are rounded before they are subtracted, so calls that were one behind the other are so here.
    let microseconds = |nanoseconds: u64| nanoseconds as f64 / 1e3;
    let mut event = json!({
        "name": call.function.name(), "cat": label(trace, call.layer), "pid": process,
        "tid": row(trace, call.thread, call.layer), "ts": microseconds(call.start_ns.saturating_sub(began)), "args": arguments,
    });
    // A call that has not returned is an event that begins and does not end.
    match call.end_ns {
        Some(end) => {
            event["ph"] = json!("X");
            event["dur"] = json!(microseconds(end.saturating_sub(call.start_ns)));
        }
        None => event["ph"] = json!("B"),
    }
    event
}

//! The calls that a job recorded: lines of text, or events for Perfetto and Chrome.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::measured::trace::{Call, Lines, RankTrace};

/// A part for each rank, a line for each call: seconds since the job's first call, the thread if there are several, who calls whom, and the
/// call, deeper by two places where it is inside of another. With `lines`, where the program made it, too.
#[must_use]
pub fn text(traces: &[RankTrace], mut lines: Option<&mut Lines>) -> String {
    let mut text = String::new();
    let began = began(traces);
    for trace in traces {
        // Writing into a String cannot fail, here and below.
        let _ = writeln!(
            text,
            "rank {} (process {}, {}): {}",
            trace.rank,
            trace.process,
            trace.mpi,
            trace.layers.join(" > ")
        );
        let width = trace.layers.iter().map(|layer| layer.chars().count()).max().unwrap_or(0);
        let has_threads = trace.calls.iter().any(|call| call.thread > 0);
        for call in &trace.calls {
            let seconds = call.start_ns.saturating_sub(began) as f64 / 1e9;
            let thread = if has_threads { format!(" t{:<3}", call.thread) } else { String::new() };
            let (caller, layer) = (label(trace, call.caller), label(trace, call.layer));
            let deep = 2 * call.depth;
            let site = lines.as_mut().zip(call.site.as_ref()).map(|(lines, site)| format!(" at {}", lines.name(site)));
            let site = site.unwrap_or_default();
            let _ = writeln!(text, "{seconds:12.6}{thread} {caller:>width$} > {layer:width$} {:deep$}{call}{site}", "");
        }
        for what in missing(trace) {
            let _ = writeln!(text, "{what}");
        }
    }
    text
}

fn label(trace: &RankTrace, layer: usize) -> &str {
    trace.layers.get(layer).map_or("?", String::as_str)
}

fn began(traces: &[RankTrace]) -> u64 {
    traces.iter().flat_map(|trace| &trace.calls).map(|call| call.start_ns).min().unwrap_or(0)
}

/// What the trace of a rank does not have.
fn missing(trace: &RankTrace) -> Vec<String> {
    let mut all = Vec::new();
    for (layer, calls) in trace.beyond_limit.iter().enumerate().filter(|(_, calls)| **calls > 0) {
        let which = if trace.limit.starts_with("last") { "earlier" } else { "further" };
        all.push(format!("{calls} {which} calls at {} are not recorded ({})", label(trace, layer), trace.limit));
    }
    match trace.lost {
        None => all.push("the process did not end by itself: this is what it recorded before".to_owned()),
        Some(0) => {}
        Some(lost) => all.push(format!("{lost} calls are lost: there was no room for them")),
    }
    all
}

/// Events in Chrome's trace format: a process is a rank, a row of it a thread and layer.
#[must_use]
pub fn events(traces: &[RankTrace], lines: &mut Lines) -> Value {
    let began = began(traces);
    let mut events = Vec::new();
    for (number, trace) in traces.iter().enumerate() {
        let name = format!("rank {} (process {})", trace.rank, trace.process);
        events.push(json!({"ph": "M", "name": "process_name", "pid": number, "args": {"name": name}}));
        events.push(json!({"ph": "M", "name": "process_sort_index", "pid": number, "args": {"sort_index": number}}));
        let mut rows: Vec<(u32, usize)> = trace.calls.iter().map(|call| (call.thread, call.layer)).collect();
        rows.sort_unstable();
        rows.dedup();
        for (thread, layer) in rows {
            let row = row(trace, thread, layer);
            let name = match thread {
                0 => label(trace, layer).to_owned(),
                thread => format!("{} (thread {thread})", label(trace, layer)),
            };
            events.push(json!({"ph": "M", "name": "thread_name", "pid": number, "tid": row, "args": {"name": name}}));
            let index = json!({"sort_index": row});
            events.push(json!({"ph": "M", "name": "thread_sort_index", "pid": number, "tid": row, "args": index}));
        }
        for call in &trace.calls {
            events.push(event(trace, number, call, began, lines));
        }
    }
    json!({"displayTimeUnit": "ns", "traceEvents": events})
}

/// The number of a row, from 1.
fn row(trace: &RankTrace, thread: u32, layer: usize) -> usize {
    thread as usize * trace.layers.len() + layer
}

fn event(trace: &RankTrace, process: usize, call: &Call, began: u64, lines: &mut Lines) -> Value {
    let mut arguments = serde_json::Map::new();
    for argument in &call.arguments {
        let text = argument.to_string();
        let text = text.strip_prefix(&format!("{}=", argument.name)).unwrap_or(&text);
        arguments.insert(argument.name.to_owned(), json!(text));
    }
    arguments.insert("caller".to_owned(), json!(label(trace, call.caller)));
    if let Some(site) = &call.site {
        arguments.insert("site".to_owned(), json!(lines.name(site)));
    }
    if let Some(result) = &call.result {
        arguments.insert("result".to_owned(), json!(result.to_string()));
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

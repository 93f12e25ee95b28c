//! The stack as a figure: a box for each layer, arrows with the calls between them, and a bar with the time of each.
//!
//! ```text
//!            +-----------+
//!        .---|  program  |  =====      arrows past layers run on the left, each in a lane of its own
//!   12   |   +-----------+
//!        |        | 76
//!        |   +-----------+
//!        |   |   outer   |  ==
//!        |   +-----------+
//! ```

use minijinja::{Value, context};

use crate::job::{MeasuredEdge, MeasuredJob};
use crate::tables::time;
use crate::template::{grouped, percent};

/// Sizes, in the figure's own units.
const BOX: (f64, f64) = (250.0, 52.0);
const GAP: f64 = 54.0;
const LANE: f64 = 104.0;
const TOP: f64 = 8.0;
const BAR: f64 = 240.0;
const TEXT: f64 = 190.0;
/// Arrows past layers that are drawn; the table has all.
const LANES: usize = 6;
/// Characters of a label that fit into its box.
const LABEL: usize = 28;

/// Everything that the template draws; `edges` has all calls between layers, for the table, and `left_out` how many arrows are in that only.
pub(super) fn of(job: &MeasuredJob) -> Value {
    let (below, mut past): (Vec<&MeasuredEdge>, Vec<&MeasuredEdge>) =
        job.edges.iter().partition(|edge| edge.to == edge.from + 1);
    past.retain(|edge| edge.from != edge.to);
    past.sort_by_key(|edge| std::cmp::Reverse(edge.traffic.calls));
    let left_out = past.len().saturating_sub(LANES);
    past.truncate(LANES);
    // Short ones are nearest to the boxes.
    past.sort_by_key(|edge| (edge.from.abs_diff(edge.to), edge.from));
    let left = if past.is_empty() { 2.0 } else { 22.0 + LANE * past.len() as f64 };
    let most = job.edges.iter().map(|edge| edge.traffic.calls).max().unwrap_or(1);
    // `anchor`: how the text stands at its place.
    let arrow = |edge: &MeasuredEdge, text: String, path: String, x: f64, y: f64, anchor: &str| {
        let stroke = 1.5 + 3.5 * (1.0 + edge.traffic.calls as f64).ln() / (1.0 + most as f64).ln();
        let title = format!("{} from {} to {}", calls(edge.traffic.calls), label(job, edge.from), label(job, edge.to));
        context! { path, stroke, text, title, x, y, anchor }
    };
    let down = |edge: &&MeasuredEdge| {
        let (x, y) = (left + BOX.0 / 2.0, top(edge.from) + BOX.1);
        let path = format!("M{x} {y}V{}", top(edge.to) - 7.0);
        arrow(edge, calls(edge.traffic.calls), path, x + 12.0, y + GAP / 2.0 + 4.0, "start")
    };
    let around = |(lane, edge): (usize, &&MeasuredEdge)| {
        let x = left - 22.0 - LANE * lane as f64;
        let (from, to) = (top(edge.from) + 0.68 * BOX.1, top(edge.to) + 0.32 * BOX.1);
        let turn = if to > from { 10.0 } else { -10.0 };
        let (near, down, up, end) = (x + 10.0, from + turn, to - turn, left - 7.0);
        let path = format!("M{left} {from}H{near}Q{x} {from} {x} {down}V{up}Q{x} {to} {near} {to}H{end}");
        arrow(edge, grouped(edge.traffic.calls), path, x - 8.0, (from + to) / 2.0 + 4.0, "end")
    };
    let arrows: Vec<Value> = below.iter().map(down).chain(past.iter().enumerate().map(around)).collect();
    let edge = |edge: &MeasuredEdge| {
        let (from, to) = (label(job, edge.from), label(job, edge.to));
        context! { from, to, calls => grouped(edge.traffic.calls) }
    };
    let (boxes, is_cut) = boxes(job, left);
    context! {
        width => left + BOX.0 + 24.0 + BAR + TEXT,
        height => top(job.layers.len()) - GAP + TOP,
        boxes,
        arrows,
        edges => job.edges.iter().map(edge).collect::<Vec<_>>(),
        is_cut,
        left_out,
    }
}

fn top(place: usize) -> f64 {
    TOP + place as f64 * (BOX.1 + GAP)
}

fn label(job: &MeasuredJob, place: usize) -> &str {
    job.layers.get(place).map_or("", |layer| layer.label.as_str())
}

fn calls(calls: u64) -> String {
    if calls == 1 { "1 call".to_owned() } else { format!("{} calls", grouped(calls)) }
}

/// Bars are comparable: tools have a scale of their own only where MPI's bar would leave nothing of theirs, and that bar is cut off then: is one?
fn boxes(job: &MeasuredJob, left: f64) -> (Vec<Value>, bool) {
    let time_of = |place: usize| if place == 0 { job.program_ns() } else { job.layers[place].own.sum_ns };
    let last = job.layers.len() - 1;
    let times: Vec<f64> = (0..=last).map(time_of).collect();
    let all = times.iter().copied().fold(1.0, f64::max);
    let tools = times.iter().take(last).skip(1).copied().fold(0.0, f64::max);
    let scale = if tools > 0.0 && tools < 0.1 * all { tools } else { all };
    let is_cut = |time_ns: &f64| *time_ns > 1.001 * scale;
    let of = |(place, time_ns): (usize, &f64)| {
        let label = label(job, place);
        let kind = match place {
            0 => "program",
            place if place == last => "mpi",
            _ => "tools",
        };
        context! {
            kind,
            label,
            shown => shortened(if place == 0 && label == "program" { "the program" } else { label }),
            x => left,
            y => top(place),
            bar_x => left + BOX.0 + 24.0,
            bar => (BAR * time_ns / scale).min(BAR),
            is_cut => is_cut(time_ns),
            time => time(*time_ns),
            share => percent(job.share(*time_ns)),
        }
    };
    (times.iter().enumerate().map(of).collect(), times.iter().any(is_cut))
}

fn shortened(label: &str) -> String {
    if label.chars().count() <= LABEL {
        return label.to_owned();
    }
    let mut text: String = label.chars().take(LABEL - 1).collect();
    text.push('…');
    text
}

//! A call through up to fifteen layers of each runtime, on one MPI.

use super::Graph;
use super::axis::Axis;
use super::colour::{AMBER, BLUE, Colour, GREEN, PURPLE, RED, SKY};
use super::lines::{self, Line};
use crate::failure::Failure;
use crate::function::SMALLEST;
use crate::mpi;
use crate::results::Results;

/// A runtime and a kind of tool: its name, and the stack of so many layers.
struct Kind {
    name: &'static str,
    colour: Colour,
    stack: fn(u32) -> String,
}

const KINDS: [Kind; 6] = [
    Kind { name: "libqmpi, bridged PMPI tools", colour: BLUE, stack: |count| count.to_string() },
    Kind { name: "libqmpi, QMPI tools, generated", colour: GREEN, stack: |count| format!("q{count}") },
    Kind { name: "libqmpi, QMPI tools with a table", colour: AMBER, stack: |count| format!("t{count}") },
    Kind { name: "PnMPI, modules", colour: RED, stack: |count| format!("pnmpi{count}") },
    Kind { name: "MPICH's own QMPI, tools with a table", colour: PURPLE, stack: |count| format!("own{count}") },
    Kind { name: "MPICH's own QMPI, PMPI tools bridged", colour: SKY, stack: |count| format!("plugin{count}") },
];

pub(super) fn graph(results: &Results, name: &str) -> Result<Option<Graph>, Failure> {
    let point = |kind: &Kind, count| {
        let call = results.call(name, &(kind.stack)(count), SMALLEST)?;
        Some((f64::from(count), call.median))
    };
    let line = |kind: &Kind| Line {
        name: kind.name.to_owned(),
        colour: kind.colour,
        points: (0..=15).filter_map(|count| point(kind, count)).collect(),
    };
    let lines: Vec<Line> = KINDS.iter().map(line).filter(|line| line.points.len() > 1).collect();
    if lines.is_empty() {
        return Ok(None);
    }
    let title = format!("{}: a call of MPI_{SMALLEST} through up to 15 layers", mpi::title(name));
    let ends = lines.iter().filter_map(|line| {
        let (count, ns) = line.points.last()?;
        Some(format!("{} {ns:.1} ns with {count} layers", line.name))
    });
    let alone = results.call(name, "none", SMALLEST).map(|call| format!("{:.1} ns without any; ", call.median));
    let description = format!("{}{}", alone.unwrap_or_default(), ends.collect::<Vec<_>>().join("; "));
    let x = Axis::with_ticks("layers", [0, 1, 2, 5, 10, 15].map(f64::from).to_vec());
    let values = lines.iter().flat_map(|line| line.points.iter().map(|point| point.1));
    let y = Axis::logarithmic("ns per call, logarithmic", values);
    let svg = lines::draw(&title, &description, &x, &y, &lines)?;
    Ok(Some(Graph { name: format!("layers-{name}"), title, description, svg }))
}

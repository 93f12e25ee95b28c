//! A call through one to a thousand layers.

use super::Graph;
use super::axis::Axis;
use super::colour::{AMBER, BLUE, GREEN, PURPLE};
use super::lines::{self, Line};
use crate::failure::Failure;
use crate::results::Results;
use crate::tables;

pub(super) fn graph(results: &Results) -> Result<Option<Graph>, Failure> {
    let lines: Vec<Line> = results
        .curves()
        .into_iter()
        .map(|(tool, points)| Line {
            name: tables::layers::name(&tool).to_owned(),
            colour: match tool.as_str() {
                "q" => GREEN,
                "t" => AMBER,
                "p" => BLUE,
                _ => PURPLE,
            },
            points,
        })
        .collect();
    if lines.is_empty() {
        return Ok(None);
    }
    let ends = lines.iter().filter_map(|line| {
        let (count, ns) = line.points.last()?;
        Some(format!("{} {ns:.0} ns with {count} layers", line.name))
    });
    let description = ends.collect::<Vec<_>>().join("; ");
    let title = "A call with 2 arguments through 1 to 1,000 instances of a tool, null MPI".to_owned();
    let points = || lines.iter().flat_map(|line| line.points.iter());
    let x = Axis::logarithmic("layers, logarithmic", points().map(|point| point.0));
    let y = Axis::logarithmic("ns per call, logarithmic", points().map(|point| point.1));
    let svg = lines::draw(&title, &description, &x, &y, &lines)?;
    Ok(Some(Graph { name: "layers-1000".to_owned(), title, description, svg }))
}

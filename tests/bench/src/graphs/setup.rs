//! What instances of bridged tools cost until `main` begins.

use super::Graph;
use super::axis::Axis;
use super::colour::SERIES;
use super::lines::{self, Line};
use crate::cost::Cost;
use crate::failure::Failure;
use crate::plan;
use crate::results::Results;

pub(super) fn graphs(results: &Results) -> Result<Vec<Graph>, Failure> {
    let ms =
        graph(results, "setup-ms", "Set-up: processor time over a process without libqmpi", "ms", |cost| cost.cpu_ms)?;
    let kb =
        graph(results, "setup-kb", "Set-up: memory over a process without libqmpi", "kB, dirty pages", Cost::dirty_kb)?;
    Ok(ms.into_iter().chain(kb).collect())
}

fn graph(
    results: &Results,
    name: &str,
    title: &str,
    unit: &'static str,
    what: fn(&Cost) -> f64,
) -> Result<Option<Graph>, Failure> {
    let counts: Vec<u32> = plan::INSTANCES.iter().copied().flatten().collect();
    let line = |(number, setup): (usize, &(String, String))| Line {
        name: format!("{}, {}", setup.0, setup.1),
        colour: SERIES[number % SERIES.len()],
        points: counts
            .iter()
            .filter_map(|count| Some((f64::from(*count), results.growth(setup, "-", &count.to_string(), what, 1)?)))
            .collect(),
    };
    let lines: Vec<Line> = results.setups().iter().enumerate().map(line).filter(|line| line.points.len() > 1).collect();
    if lines.is_empty() {
        return Ok(None);
    }
    let ends = lines.iter().filter_map(|line| {
        let (count, value) = line.points.last()?;
        Some(format!("{} {value:.1} with {count} instances", line.name))
    });
    let description = format!("{unit}: {}", ends.collect::<Vec<_>>().join("; "));
    let x = Axis::with_ticks("instances of a bridged tool", counts.iter().copied().map(f64::from).collect());
    let most = lines.iter().flat_map(|line| &line.points).map(|point| point.1).fold(0.0, f64::max);
    let svg = lines::draw(title, &description, &x, &Axis::linear(unit, most), &lines)?;
    Ok(Some(Graph { name: name.to_owned(), title: title.to_owned(), description, svg }))
}

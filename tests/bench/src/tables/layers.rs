//! One to a thousand instances.

use crate::cell::Cell;
use crate::fit::Fit;
use crate::results::Results;
use crate::table::Table;

pub(super) fn table(results: &Results) -> Table {
    let mut counts: Vec<u32> = results.layers.keys().iter().map(|(_, count)| *count).collect();
    counts.sort_unstable();
    counts.dedup();
    let mut columns: Vec<String> = counts.iter().map(u32::to_string).collect();
    columns.extend(["ns per layer".to_owned(), "R²".to_owned()]);
    let title = "null MPI: 1 to 1,000 instances of one tool, ns per call with 2 arguments";
    let mut table = Table::new(title, columns);
    table.corner = "layers";
    for (tool, points) in results.curves() {
        let mut cells: Vec<Cell> = counts
            .iter()
            .map(|count| {
                let point = points.iter().find(|(at, _)| *at == f64::from(*count)).map(|&(_, ns)| ns);
                Cell::or_empty(point, |ns| if ns < 100.0 { format!("{ns:.1}") } else { format!("{ns:.0}") })
            })
            .collect();
        let fit = Fit::through(&points);
        cells.push(Cell::number(fit.slope, format!("{:.2}", fit.slope)));
        cells.push(Cell::number(fit.r2, format!("{:.5}", fit.r2)));
        table.row(name(&tool), Some(cells));
    }
    table
}

/// Of what has so many layers, as measurements name it.
pub(crate) fn name(tool: &str) -> &'static str {
    match tool {
        "q" => "QMPI tool, generated",
        "t" => "QMPI tool with a table",
        "p" => "PMPI tool, bridged",
        "own" => "MPICH's own QMPI on MPICH, a table",
        _ => "",
    }
}

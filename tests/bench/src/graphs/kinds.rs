//! What one layer costs, of each kind.

use super::Graph;
use super::bars::{self, Group};
use crate::combination::Combination;
use crate::failure::Failure;
use crate::function::SMALLEST;
use crate::mpi;
use crate::results::Results;

/// What is compared: the first tool under LD_PRELOAD and bridged, and then each further one.
fn kinds() -> [(&'static str, Combination); 10] {
    let of = Combination::difference;
    [
        ("LD_PRELOAD: the only tool", of("preload", "none", 1)),
        ("libqmpi: the first bridged tool", of("1", "none", 1)),
        ("libqmpi: a further bridged tool", of("10", "1", 9)),
        ("libqmpi: a further QMPI tool, generated", of("q10", "q1", 9)),
        ("libqmpi: a further QMPI tool with a table", of("t10", "t1", 9)),
        ("libqmpi: a further one that asks QMPI_Get_function", of("l5", "l1", 4)),
        ("prototype of 2018: a further tool", of("h5", "h1", 4)),
        ("PnMPI: a further module", of("pnmpi10", "pnmpi1", 9)),
        ("MPICH's own QMPI: a further QMPI tool with a table", of("own10", "own1", 9)),
        ("MPICH's own QMPI: a further bridged tool", of("plugin10", "plugin1", 9)),
    ]
}

pub(super) fn graph(results: &Results) -> Result<Option<Graph>, Failure> {
    let mpis = results.mpis();
    let value =
        |mpi: &str, combination: &Combination| results.combined(mpi, combination, SMALLEST).map(|spread| spread.median);
    let group = |(name, combination): &(&str, Combination)| Group {
        name: (*name).to_owned(),
        values: mpis.iter().map(|mpi| value(mpi, combination)).collect(),
    };
    let groups: Vec<Group> =
        kinds().iter().map(group).filter(|group| group.values.iter().any(Option::is_some)).collect();
    if groups.is_empty() {
        return Ok(None);
    }
    let series: Vec<String> = mpis.iter().map(|name| mpi::title(name).to_owned()).collect();
    let words = groups.iter().map(|group| {
        let values = series.iter().zip(&group.values);
        let values = values.filter_map(|(name, value)| value.map(|value| format!("{name} {value:.2}")));
        format!("{}, {}", group.name, values.collect::<Vec<_>>().join(", "))
    });
    let description = format!("{} ns", words.collect::<Vec<_>>().join("; "));
    let title = format!("What one layer adds to a call of MPI_{SMALLEST}");
    let svg = bars::draw(&title, &description, "ns", &series, &groups)?;
    Ok(Some(Graph { name: "kinds".to_owned(), title, description, svg }))
}

//! The graphs of the report, a file for each.

mod axis;
mod bars;
mod colour;
mod kinds;
mod layers;
mod lines;
mod picture;
mod runtimes;
mod setup;

use crate::failure::Failure;
use crate::results::Results;

/// One of them, whole.
pub(crate) struct Graph {
    /// Of the file, without `.svg`.
    pub(crate) name: String,
    pub(crate) title: String,
    /// What it shows, for those who do not see it.
    pub(crate) description: String,
    pub(crate) svg: String,
}

/// All that have something to show, in the order of the report.
pub(crate) fn all(results: &Results) -> Result<Vec<Graph>, Failure> {
    let mut graphs = Vec::new();
    for mpi in results.mpis() {
        graphs.extend(runtimes::graph(results, mpi)?);
    }
    graphs.extend(layers::graph(results)?);
    graphs.extend(kinds::graph(results)?);
    graphs.extend(setup::graphs(results)?);
    Ok(graphs)
}

//! The tables of the report, a file for each.

mod calls;
mod edges;
mod goals;
mod instructions;
mod interface;
pub(crate) mod layers;
mod native;
mod setup;

use crate::function::Function;
use crate::mpi;
use crate::results::Results;
use crate::table::Table;

/// All that have rows, in the order of the report.
pub(crate) fn all(results: &Results) -> Vec<Table> {
    let mut tables: Vec<Table> = results.mpis().iter().map(|mpi| calls::table(results, mpi)).collect();
    tables.extend([
        instructions::table(results),
        edges::table(results),
        interface::table(results),
        layers::table(results),
        setup::table(results),
        native::table(results),
        goals::table(results),
    ]);
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// A table with a column for each function that is called on this MPI.
fn of_functions(title: &str, mpi: &str, functions: &[&Function]) -> Table {
    let columns = functions.iter().map(|function| function.heading()).collect();
    Table::new(format!("{}: {title}", mpi::title(mpi)), columns)
}

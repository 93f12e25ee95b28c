//! The functions of the interface.

use crate::cell::Cell;
use crate::results::Results;
use crate::sample::{Sample, Spread};
use crate::table::Table;

pub(super) fn table(results: &Results) -> Table {
    let mut table = Table::new("The interface: ns per call", vec![String::new()]);
    for function in results.interface.keys() {
        table.row(function, spread(results, function).map(|spread| vec![Cell::spread(spread)]));
    }
    table
}

pub(super) fn spread(results: &Results, function: &str) -> Option<Spread> {
    Sample::of(results.interface.get(&function.to_owned())?.values().copied()).spread()
}

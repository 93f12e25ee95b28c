//! `qmpi stats`: what a job with `--stats=FILE` counted, on all ranks together.

use std::fmt::Write;

use qmpi_measured::stats_file::{self, Spread};
use qmpi_measured::{notes, tables};

use crate::args::StatsArgs;
use crate::{Error, terminal};

/// Prints a table, or JSON.
pub(crate) fn stats(args: &StatsArgs) -> Result<(), Error> {
    let calls = stats_file::read(&args.file)?;
    if args.json {
        return terminal::answer_json(calls);
    }
    let mut text = format!("{} ranks.\n", calls.ranks.len());
    // Writing into a String cannot fail, here and below.
    if !calls.missing.is_empty() {
        let _ = writeln!(text, "Nothing is known of {}.", notes::ranks(&calls.missing));
    }
    let head = ["function".to_owned()].into_iter().chain(calls.layers.iter().cloned());
    let mut table = tables::table_with(head);
    for row in &calls.functions {
        table.add_row([row.function.clone()].into_iter().chain(row.calls.iter().map(cell)));
    }
    let _ = writeln!(text, "\nCalls on all ranks, and least – most on a rank where ranks differ.\n{table}");
    terminal::answer(&text)
}

fn cell(calls: &Option<Spread>) -> String {
    match calls {
        None => "-".to_owned(),
        Some(Spread { sum, min, max, .. }) if min == max => sum.to_string(),
        Some(Spread { sum, min, max, max_rank }) => format!("{sum} ({min} – {max}, rank {max_rank})"),
    }
}

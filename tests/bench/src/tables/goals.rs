//! The goals, and what was measured.

use crate::combination::Combination;
use crate::cost::Cost;
use crate::fit::Fit;
use crate::function::SMALLEST;
use crate::goal::Goal;
use crate::mpi;
use crate::results::Results;
use crate::table::Table;

pub(super) fn table(results: &Results) -> Table {
    let mut table = Table::new("Goals", vec!["goal".to_owned(), "measured".to_owned(), String::new()]);
    table.before = Some("Times of calls are for the function with two arguments, unless a row says which.");
    table.words_at_end = true;
    // Goals are those of libqmpi on an MPI library that has no QMPI of its own.
    let mpis = results.mpis().iter().filter(|mpi| *mpi != mpi::WITH_QMPI);
    let goals = mpis.flat_map(|mpi| calls(results, mpi)).chain(native(results)).chain(setup(results));
    table.rows = goals.flatten().map(Goal::row).collect();
    table
}

fn calls(results: &Results, name: &str) -> Vec<Option<Goal>> {
    let title = mpi::title(name);
    let of = Combination::difference;
    let at_most =
        |text: &str, limit: f64, value: Option<f64>| Goal::at_most(format!("{text}: {title}"), limit, "ns", value);
    let smallest = |text: &str, limit: f64, combination: Combination| {
        at_most(text, limit, results.combined(name, &combination, SMALLEST).map(|spread| spread.median))
    };
    let worst = |text: &str, limit: f64, combination: Combination, arguments| {
        at_most(text, limit, results.worst(name, &combination, arguments))
    };
    let in_turns = super::calls::in_turns;
    vec![
        smallest("each further QMPI layer, generated (1 to 10)", 1.2, of("q10", "q1", 9)),
        smallest("each further QMPI layer with a table (1 to 10)", 1.2, of("t10", "t1", 9)),
        worst("edge QMPI → PMPI, the worst", 2.0, of("tz1", "ts1", 1), 1..=99),
        worst("edge PMPI → QMPI, the worst up to 4 arguments", 2.0, of("ps1", "pz1", 1), 1..=4),
        worst("edge PMPI → QMPI, the worst above", 5.0, of("ps1", "pz1", 1), 5..=99),
        worst("both edges in turn, the worst up to 4 arguments", 4.0, in_turns(), 1..=4),
        worst("both edges in turn, the worst above", 7.0, in_turns(), 5..=99),
        smallest("empty stack, over no libqmpi", 0.0, of("0", "none", 1)),
        smallest("one bridged tool, over LD_PRELOAD", 0.6, of("1", "preload", 1)),
        smallest("each further layer (1 to 10)", 1.0, of("10", "1", 9)),
    ]
}

fn native(results: &Results) -> Vec<Option<Goal>> {
    let lookup = super::interface::spread(results, "QMPI_Get_function").map(|spread| spread.median);
    let mut goals = vec![Goal::at_most("QMPI_Get_function in a loop", 3.0, "ns", lookup)];
    for (tool, points) in results.curves().into_iter().filter(|(tool, _)| ["q", "t"].contains(&tool.as_str())) {
        let text = format!("R², 1 to 1,000 layers, {}", if tool == "q" { "generated" } else { "with a table" });
        goals.push(Goal::at_least(text, 0.999, Some(Fit::through(&points).r2), 5));
    }
    goals
}

fn setup(results: &Results) -> Vec<Option<Goal>> {
    let mut goals = Vec::new();
    for setup in results.setups() {
        let of = |text: &str| format!("{text}: {}, {}", setup.0, setup.1);
        let ms = |positions| results.instances(&setup, positions).median();
        let kb = results.growth(&setup, "1", "15", Cost::dirty_kb, 14);
        let loaded = results.loaded(&setup).map(f64::from);
        goals.extend([
            Goal::at_most(of("set-up of the first instance"), 1.0, "ms", ms(1..=1)),
            Goal::at_most(of("set-up of each further instance"), 0.3, "ms", ms(2..=15)),
            Goal::at_most(of("memory of each further instance"), 300.0, "kB", kb),
            Goal::at_least(of("instances that load with default tunables"), 15.0, loaded, 0),
        ]);
    }
    goals
}

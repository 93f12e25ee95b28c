//! Nanoseconds per call on one MPI, and differences of them.

use crate::cell::Cell;
use crate::combination::Combination;
use crate::results::Results;
use crate::stack::Stack;
use crate::table::Table;

pub(super) fn table(results: &Results, mpi: &str) -> Table {
    let functions = results.functions(mpi);
    let mut table = super::of_functions("ns per call", mpi, &functions);
    for stack in results.stacks() {
        let Some(title) = Stack::parse(stack).and_then(|stack| stack.title()) else { continue };
        let cells = functions.iter().map(|function| results.call(mpi, stack, &function.name).map(Cell::median));
        table.row(title, cells.collect());
    }
    for (text, combination) in differences() {
        let cells =
            functions.iter().map(|function| results.combined(mpi, &combination, &function.name).map(Cell::difference));
        table.row(text, cells.collect());
    }
    table.after = results
        .cycle(mpi)
        .map(|(rounds, cycle)| format!("{rounds} rounds; a clock cycle took {cycle:.3} ns ({:.2} GHz).", 1.0 / cycle));
    table
}

/// A further pair of a PMPI and a QMPI tool in turns, less a further layer of each: in stacks of five.
pub(super) fn in_turns() -> Combination {
    let quarter = |stack, sign: f64| (stack, 0.25 * sign);
    Combination(vec![
        quarter("pt5", 1.0),
        quarter("pt1", -1.0),
        quarter("5", -1.0),
        quarter("1", 1.0),
        quarter("t5", -1.0),
        quarter("t1", 1.0),
    ])
}

fn differences() -> Vec<(&'static str, Combination)> {
    let of = Combination::difference;
    let to_mpi = Combination(vec![("t1", 1.0), ("0", -1.0), ("s1", -1.0), ("z1", 1.0), ("t5", -0.25), ("t1", 0.25)]);
    vec![
        ("**empty stack**, over no libqmpi", of("0", "none", 1)),
        ("tool under LD_PRELOAD, over no libqmpi", of("preload", "none", 1)),
        ("**one bridged tool**, over LD_PRELOAD", of("1", "preload", 1)),
        ("**each further layer**, 1 to 2", of("2", "1", 1)),
        ("**each further layer**, 2 to 5", of("5", "2", 3)),
        ("**each further layer**, 1 to 10", of("10", "1", 9)),
        ("**each further layer**, 10 to 15", of("15", "10", 5)),
        ("calling tool under LD_PRELOAD, over no libqmpi", of("preload-call", "none", 1)),
        ("one bridged calling tool, over LD_PRELOAD", of("1-call", "preload-call", 1)),
        ("each further calling layer, 1 to 10", of("10-call", "1-call", 9)),
        ("**one QMPI tool**, generated, over no libqmpi", of("q1", "none", 1)),
        ("**each further QMPI layer**, generated, 1 to 10", of("q10", "q1", 9)),
        ("one QMPI tool with a table, over no libqmpi", of("t1", "none", 1)),
        ("each further QMPI layer with a table, 1 to 10", of("t10", "t1", 9)),
        ("each further QMPI layer that asks QMPI_Get_function, 1 to 5", of("l5", "l1", 4)),
        ("each further layer of the 2018 prototype, 1 to 5", of("h5", "h1", 4)),
        ("edge application → QMPI", of("s1", "z1", 1)),
        ("**edge PMPI → QMPI**", of("ps1", "pz1", 1)),
        ("**edge QMPI → PMPI**", of("tz1", "ts1", 1)),
        ("edge QMPI → MPI", to_mpi),
        ("**both edges**, PMPI and QMPI in turn", in_turns()),
        ("asking for the calling address", of("a1", "t1", 1)),
        ("keeping it across a PMPI tool", of("pk1", "ps1", 1)),
        ("PnMPI, no module, over no PnMPI", of("pnmpi0", "none", 1)),
        ("PnMPI, one module, over LD_PRELOAD", of("pnmpi1", "preload", 1)),
        ("PnMPI, each further module, 1 to 10", of("pnmpi10", "pnmpi1", 9)),
        ("MPICH's own QMPI, one tool with a table, over none", of("own1", "none", 1)),
        ("MPICH's own QMPI, each further tool with a table, 1 to 10", of("own10", "own1", 9)),
        ("MPICH's own QMPI, each further tool bridged by libqmpi_bridge.so, 1 to 10", of("plugin10", "plugin1", 9)),
    ]
}

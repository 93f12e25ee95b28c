//! Instructions in libqmpi itself, by what leads where.

use crate::cell::Cell;
use crate::combination::Combination;
use crate::function::Function;
use crate::results::Results;
use crate::table::Table;

pub(super) fn table(results: &Results) -> Table {
    let counted = results.counted_functions();
    let functions: Vec<&Function> = counted.iter().collect();
    let mut table = super::of_functions("instructions in libqmpi per edge", "null", &functions);
    let (alone, of) = (|stack| Combination(vec![(stack, 1.0)]), Combination::difference);
    for (text, combination) in [
        ("application → PMPI", alone("1")),
        ("PMPI → PMPI", of("2", "1", 1)),
        ("application → QMPI", alone("s1")),
        ("QMPI → QMPI", of("t2", "t1", 1)),
        ("QMPI → MPI", of("t1", "s1", 1)),
        ("QMPI → PMPI", of("tz1", "s1", 1)),
        ("PMPI → QMPI", alone("ps1")),
        ("keeping the calling address, application → PMPI → QMPI", of("pk1", "ps1", 1)),
        ("QMPI_Get_tool_storage in a generated layer", of("q2", "q1", 1)),
    ] {
        let cell = |function: &&Function| {
            let ours = |stack: &str| results.instructions_in("null", stack, &function.name, "libqmpi");
            combination.sum(ours).map(|count| Cell::number(count, format!("{count:.2}")))
        };
        table.row(text, functions.iter().map(cell).collect());
    }
    table
}

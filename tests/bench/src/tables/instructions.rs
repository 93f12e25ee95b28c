//! Instructions per call.

use crate::cell::Cell;
use crate::function::Function;
use crate::results::Results;
use crate::stack::Stack;
use crate::table::Table;

pub(super) fn table(results: &Results) -> Table {
    let mpi = "null";
    let counted = results.counted_functions();
    let functions: Vec<&Function> = counted.iter().collect();
    let mut table = super::of_functions("instructions per call", mpi, &functions);
    table.before = Some("Exact, counted by callgrind; in brackets: over no libqmpi.");
    for stack in results.counted_stacks() {
        let Some(title) = Stack::parse(&stack).and_then(|stack| stack.title()) else { continue };
        let cell = |function: &&Function| {
            let count = results.instructions(mpi, &stack, &function.name)?;
            let over = count - results.instructions(mpi, "none", &function.name)?;
            Some(Cell::number(count, format!("{count:.2} ({over:+.2})")))
        };
        table.row(title, functions.iter().map(cell).collect());
    }
    table
}

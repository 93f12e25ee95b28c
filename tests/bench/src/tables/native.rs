//! Time and memory of native instances.

use crate::cell::Cell;
use crate::cost::Cost;
use crate::mpi;
use crate::results::Results;
use crate::stack::Stack;
use crate::table::Table;

pub(super) fn table(results: &Results) -> Table {
    let columns = ["instances", "CPU each further", "kB each further"];
    let mut table = Table::new("Set-up of native instances, the generated tool", columns.map(str::to_owned).to_vec());
    table.corner = "MPI";
    for (name, stack) in results.natives() {
        let Some(Stack::Letters { times, .. }) = Stack::parse(stack) else { continue };
        if times < 10 {
            continue;
        }
        let growth = |what| results.native_growth(name, "q1", stack, what, times - 1);
        let cells = vec![
            Cell::number(f64::from(times), times.to_string()),
            Cell::or_empty(growth(|cost| cost.cpu_ms), |ms| format!("{ms:.3} ms")),
            Cell::or_empty(growth(Cost::dirty_kb), |kb| format!("{kb:.0}")),
        ];
        table.row(mpi::title(name), Some(cells));
    }
    table
}

//! Time and memory of instances of bridged tools.

use crate::cell::Cell;
use crate::cost::Cost;
use crate::results::Results;
use crate::table::Table;

pub(super) fn table(results: &Results) -> Table {
    let columns = [
        "libqmpi itself",
        "first instance",
        "each further",
        "range",
        "CPU each further",
        "kB libqmpi itself",
        "kB first",
        "kB each further",
        "of 15 loaded",
    ];
    let mut table = Table::new("Set-up", columns.map(str::to_owned).to_vec());
    table.corner = "MPI, tool";
    table.after = Some(
        "kB are dirty pages, private and shared. CPU is the processor time of the process, its kernel part included."
            .to_owned(),
    );
    for setup in results.setups() {
        let cpu = |from, to, by| results.growth(&setup, from, to, |cost| cost.cpu_ms, by);
        let kb = |from, to, by| results.growth(&setup, from, to, Cost::dirty_kb, by);
        let ms = |value: Option<f64>, digits: usize| Cell::or_empty(value, |ms| format!("{ms:.digits$} ms"));
        let whole = |value| Cell::or_empty(value, |kb: f64| format!("{:.0}", kb.trunc()));
        let (first, further) = (results.instances(&setup, 1..=1), results.instances(&setup, 2..=15));
        let range = match (further.quantile(0.1), further.quantile(0.9)) {
            (Some(low), Some(high)) => Cell::words(format!("{low:.2}…{high:.2} ms")),
            _ => Cell::words(""),
        };
        let cells = vec![
            ms(cpu("-", "0", 1), 1),
            ms(first.median(), 1),
            ms(further.median(), 2),
            range,
            ms(cpu("1", "15", 14), 2),
            whole(kb("-", "0", 1)),
            whole(kb("0", "1", 1)),
            whole(kb("1", "15", 14)),
            whole(results.loaded(&setup).map(f64::from)),
        ];
        table.row(format!("{}, {}", setup.0, setup.1), Some(cells));
    }
    table
}

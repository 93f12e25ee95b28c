//! Lists of entry points. What an entry point looks like is that of the crate that has the list.

use crate::table::FunctionList;
use crate::write::qmpi::shifted_name;
use crate::write::{head, lines};

/// The text of `bridge/entry/src/exports/functions/list.rs`.
pub fn stubs(table: &FunctionList) -> String {
    let entry_points = table.rows.iter().enumerate().map(|(id, row)| format!("    {id} {};", row.name));
    head("Every entry point: the function's number and C name.", "functions.tsv", "stubs")
        + &format!("\ncrate::exports::functions::define! {{\n{}}}\n", lines(entry_points))
}

/// The text of `bridge/entry/src/exports/shifted/list.rs`.
pub fn qmpi_stubs(table: &FunctionList) -> String {
    let entry_points = table.rows.iter().enumerate().filter_map(|(id, row)| {
        let args = if row.variadic { "v".to_owned() } else { row.args.to_string() };
        Some(format!("    {id} {} {args};", shifted_name(&row.name)?))
    });
    let documentation = "Every name-shifted entry point: the function's number, the exported name, the number of its own\n\
                         //! arguments, `v` if there may be any number of them.";
    head(documentation, "functions.tsv", "stubs --qmpi")
        + &format!("\ncrate::exports::shifted::define! {{\n{}}}\n", lines(entry_points))
}

/// Procedures of Fortran that C has not got, and that a library has under one name (MPI 4.0, 19.1.17, 19.3.5).
const OF_FORTRAN_ALONE: [&str; 3] = ["mpi_f_sync_reg", "mpi_status_f2f08", "mpi_status_f082f"];

/// The text of `bridge/fortran/src/list.rs`.
///
/// ```text
/// entry_point!(qmpi_send_ "pmpi_send_");
/// other_spelling!(QMPI_SEND qmpi_send_);
/// entry_point!(qmpi_send_f08_ "pmpi_send_f08_" "pmpir_send_f08_");
/// ```
pub fn fortran_stubs(table: &FunctionList) -> String {
    let documentation =
        "Every name-shifted entry point of Fortran, and the profiling names of MPI libraries that it goes on to.";
    let mut text = head(documentation, "functions.tsv", "stubs --fortran")
        + "#![allow(non_snake_case, reason = \"names of MPI\")]\n\nuse crate::arch::{entry_point, other_spelling};\n\n";
    let rows = &table.rows;
    let has_large = |name: &str| rows.iter().any(|row| row.name.strip_suffix("_c") == Some(name));
    let of_c = rows.iter().filter_map(|row| Some((row.fortran.as_deref()?, has_large(&row.name))));
    for (name, has_large) in of_c.chain(OF_FORTRAN_ALONE.map(|name| (name, false))) {
        text += &format!("entry_point!(q{name}_ \"p{name}_\");\n");
        for other in [format!("q{name}"), format!("q{name}__"), format!("Q{}", name.to_uppercase())] {
            text += &format!("other_spelling!({other} q{name}_);\n");
        }
        // MPICH's profiling names have another prefix: pmpir_send_f08_, pmpixr_comm_revoke_f08_.
        let (prefix, stem) = name.split_once('_').unwrap_or((name, ""));
        let suffixes = ["f08_", "f08ts_", "f08_large_", "f08ts_large_"];
        for suffix in &suffixes[..if has_large { 4 } else { 2 }] {
            text += &format!("entry_point!(q{name}_{suffix} \"p{name}_{suffix}\" \"p{prefix}r_{stem}_{suffix}\");\n");
        }
    }
    text
}

//! `bridge/fortran/src/list.rs`: the name-shifted entry points in Fortran.

use crate::table::FunctionList;

/// Procedures of Fortran that C has not got, and that a library has under one name (MPI 4.0, 19.1.17, 19.3.5).
const OF_FORTRAN_ALONE: [&str; 3] = ["mpi_f_sync_reg", "mpi_status_f2f08", "mpi_status_f082f"];

/// The text of `list.rs`. What an entry point looks like is that of the crate.
///
/// ```text
/// entry_point!(qmpi_send_ "pmpi_send_");
/// other_spelling!(QMPI_SEND qmpi_send_);
/// entry_point!(qmpi_send_f08_ "pmpi_send_f08_" "pmpir_send_f08_");
/// ```
#[must_use]
pub fn fortran_stubs(table: &FunctionList) -> String {
    let mut text =
        "//! Every name-shifted entry point of Fortran, and the profiling names of MPI libraries that it goes on to.\n\
                    //!\n\
                    //! @generated from functions.tsv by `shim-gen stubs --fortran`.\n\
                    #![allow(non_snake_case, reason = \"names of MPI\")]\n\
                    \n\
                    use crate::arch::{entry_point, other_spelling};\n\n"
            .to_owned();
    let rows = table.rows();
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

//! `bridge/entry/src/exports/functions/list.rs`: which entry points there are. What one looks like is that of the crate.

use std::fmt::Write as _;

use crate::table::Table;

/// The text of `list.rs`.
#[must_use]
pub fn stubs(table: &Table) -> String {
    let mut text = "//! Every entry point: the function's number and C name.\n\
                    //!\n\
                    //! @generated from functions.tsv by `shim-gen stubs`.\n\
                    \n\
                    crate::exports::functions::define! {\n"
        .to_owned();
    for (id, row) in table.rows().iter().enumerate() {
        // Writing into a String cannot fail.
        let _ = writeln!(text, "    {id} {};", row.name);
    }
    text.push_str("}\n");
    text
}

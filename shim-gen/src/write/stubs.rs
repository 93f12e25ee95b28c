//! `bridge/entry/src/exports/functions/list.rs`: which entry points there are. What one looks like is that of the crate.

use crate::table::FunctionList;
use crate::write::lines;

/// The text of `list.rs`.
#[must_use]
pub fn stubs(table: &FunctionList) -> String {
    format!(
        "//! Every entry point: the function's number and C name.\n\
         //!\n\
         //! @generated from functions.tsv by `shim-gen stubs`.\n\
         \n\
         crate::exports::functions::define! {{\n{}}}\n",
        lines(table.rows().iter().enumerate().map(|(id, row)| format!("    {id} {};", row.name)))
    )
}

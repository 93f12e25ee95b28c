//! `bridge/abi/src/macros.rs`: functions that headers have as macros only, and what these stand for.

use std::collections::BTreeMap;

use crate::error::{Result, ShimError};
use crate::read::header::{Header, Label};
use crate::table::FunctionList;
use crate::write::{array, head, imported, lines};

/// The vendors, and what the generated text calls their lists.
const LISTS: [(&str, &str, &str); 2] =
    [("mpich", "OF_MPICH", "MPICH and its relatives"), ("openmpi", "OF_OPENMPI", "Open MPI and its relatives")];

/// The text of `macros.rs`.
///
/// # Errors
/// If a macro stands for something unknown, two headers of one vendor do not agree, or the table lacks the function.
pub fn macros_rust(headers: &[(Label, Header)], table: &FunctionList) -> Result<String> {
    let mut lists = String::new();
    let mut used = Vec::new();
    for (vendor, list, title) in LISTS {
        let mut found: BTreeMap<usize, (&str, &str)> = BTreeMap::new();
        for (label, header) in headers.iter().filter(|(label, _)| label.vendor() == vendor) {
            for (name, expression) in header.macros()? {
                let row = table.rows.iter().position(|row| row.name == name);
                let row = row.ok_or_else(|| ShimError::NoFunction(name.to_owned()))?;
                if found.insert(row, (name, expression)).is_some_and(|(_, before)| before != expression) {
                    return Err(ShimError::Macros(name.to_owned(), label.name.clone()));
                }
                used.push(expression.to_owned());
            }
        }
        let rows = found.iter().map(|(row, (name, expression))| format!("    ({row}, {expression}), // {name}"));
        lists += &array(
            &format!("Those of {title}, in the order of their numbers."),
            &format!("pub(crate) static {list}: [(u16, Expression); {}] = ", found.len()),
            &format!("\n{}", lines(rows)),
        );
    }
    let documentation = "Functions that headers have as macros only: no library of such an MPI has them.";
    Ok(head(documentation, "headers and functions.tsv", "macros")
        + "\nuse crate::expression::Expression;\n"
        + &format!("use crate::expression::Expression::{{{}}};\n{lists}", imported(used.into_iter())))
}

//! `bridge/abi/src/macros.rs`: functions that headers have as macros only, and what these stand for.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::error::{Error, Result};
use crate::read::header::{Header, Label};
use crate::read::macros::Expression;
use crate::table::Table;

/// The vendors, and what the generated text calls their lists.
const LISTS: [(&str, &str, &str); 2] =
    [("mpich", "OF_MPICH", "MPICH and its relatives"), ("openmpi", "OF_OPENMPI", "Open MPI and its relatives")];

/// The text of `macros.rs`.
///
/// # Errors
/// If a macro stands for something unknown, two headers of one vendor do not agree, or the table lacks the function.
pub fn macros_rust(headers: &[(Label, Header)], table: &Table) -> Result<String> {
    let mut lists = String::new();
    let mut used: Vec<Expression> = Vec::new();
    for (vendor, list, title) in LISTS {
        let mut found: BTreeMap<usize, (&str, Expression)> = BTreeMap::new();
        for (label, header) in headers.iter().filter(|(label, _)| label.vendor() == vendor) {
            for (name, expression) in header.macros()? {
                let row = table.rows().iter().position(|row| row.name == name);
                let row = row.ok_or_else(|| Error::NoFunction { name: name.to_owned() })?;
                if found.insert(row, (name, expression)).is_some_and(|(_, before)| before != expression) {
                    return Err(Error::Macros { name: name.to_owned(), label: label.name.clone() });
                }
                used.push(expression);
            }
        }
        // Writing into a String cannot fail, here and below.
        let _ = write!(lists, "\n/// Those of {title}, in the order of their numbers.\n#[rustfmt::skip]\n");
        let _ = writeln!(lists, "pub(crate) static {list}: [(u16, Expression); {}] = [", found.len());
        for (row, (name, expression)) in found {
            let _ = writeln!(lists, "    ({row}, {expression}), // {name}");
        }
        lists.push_str("];\n");
    }
    let used: BTreeSet<String> = used.iter().map(ToString::to_string).collect();
    let used: Vec<String> = used.into_iter().collect();
    Ok(format!(
        "//! Functions that headers have as macros only: no library of such an MPI has them.\n\
         //!\n\
         //! @generated from headers and functions.tsv by `shim-gen macros`.\n\
         \n\
         use crate::expression::Expression;\n\
         use crate::expression::Expression::{{{}}};\n{lists}",
        used.join(", ")
    ))
}

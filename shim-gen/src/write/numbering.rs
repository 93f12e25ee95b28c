//! `bridge/abi/src/numbering/tables.rs`: all numberings as Rust.

use crate::error::{Result, ShimError};
use crate::numbering::{HeaderNumbering, enumerator, shown};
use crate::table::FunctionList;
use crate::write::{array, elements, head};

/// The text of `tables.rs`.
///
/// # Errors
/// If the table lacks a function of a numbering: every function with a number anywhere has a row.
pub fn numbering_rust(numberings: &[HeaderNumbering], table: &FunctionList) -> Result<String> {
    let rows: Vec<_> = table.rows.iter().map(|row| enumerator(&row.name)).collect();
    let documentation = "Oldest first. A function's number is its place, what stands there its row in `FUNCTIONS`.";
    let mut known = "\n".to_owned();
    for HeaderNumbering { releases, values } in numberings {
        let count = values.last().map_or(0, |(value, _)| usize::from(*value) + 1);
        let mut places = vec!["u16::MAX".to_owned(); count];
        for (value, name) in values {
            let id = rows.iter().position(|row| row == name).ok_or_else(|| ShimError::Unnumbered(name.clone()))?;
            places[usize::from(*value)] = id.to_string();
        }
        let name = releases.first().map_or_else(String::new, |first| shown(*first));
        known += &format!(
            "    ReleasedNumbering {{ releases: &{releases:?}, numbering: Numbering {{ name: \"mpich-{name}\", \
             functions: &[{}    ] }} }},\n",
            elements(places, 20, "        ")
        );
    }
    Ok(head("The numberings of all known MPICH releases.", "numbering/*.txt and functions.tsv", "numbering-rust")
        + "\nuse super::{Numbering, ReleasedNumbering};\n"
        + &array(documentation, "pub(super) static KNOWN: &[ReleasedNumbering] = &", &known))
}

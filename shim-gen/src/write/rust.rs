//! `bridge/abi/src/table.rs`: the table as Rust.

use std::fmt::Write as _;

use crate::read::origin::Origin;
use crate::table::{ResultKind, Row, Table};

/// The text of `table.rs`.
#[must_use]
pub fn rust(table: &Table) -> String {
    let rows = table.rows();
    // Only names that the rows use: an unused import is a warning.
    let used = |name: &'static str, used: bool| used.then_some(name);
    let origins = imported([
        used("Mpich", rows.iter().any(|row| row.since == Origin::Mpich)),
        used("OpenMpi", rows.iter().any(|row| row.since == Origin::OpenMpi)),
        used("Standard", rows.iter().any(|row| matches!(row.since, Origin::Standard(_)))),
    ]);
    let kind = |kind| used(variant(kind), rows.iter().any(|row| row.result == kind));
    let kinds =
        imported([kind(ResultKind::Double), kind(ResultKind::Int), kind(ResultKind::Void), kind(ResultKind::Word)]);
    let mut text = format!(
        "//! The table of functions and two ways to search it.\n\
         //!\n\
         //! @generated from functions.tsv by `shim-gen rust`.\n\
         \n\
         use crate::function::Function;\n\
         use crate::function::Origin::{{{origins}}};\n\
         use crate::function::ResultKind::{{{kinds}}};\n\
         \n\
         /// How many functions there are.\n\
         pub const COUNT: usize = {};\n\
         \n\
         /// Every function; the index is the function's number.\n\
         #[rustfmt::skip]\n\
         pub static FUNCTIONS: [Function; COUNT] = [\n",
        rows.len()
    );
    for row in rows {
        // Writing into a String cannot fail, here and below.
        let _ = writeln!(text, "    {},", function(row));
    }
    text.push_str("];\n");
    let names = rows.iter().enumerate().map(|(id, row)| (row.name.as_str(), id)).collect();
    index(&mut text, "BY_NAME", "Numbers of all functions in the order of their C names.", names);
    let fortran = rows.iter().enumerate().filter_map(|(id, row)| Some((row.fortran.as_deref()?, id))).collect();
    index(
        &mut text,
        "BY_FORTRAN",
        "Numbers of the functions that Fortran has, in the order of their Fortran names.",
        fortran,
    );
    text
}

fn imported<const N: usize>(names: [Option<&'static str>; N]) -> String {
    names.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn variant(kind: ResultKind) -> &'static str {
    match kind {
        ResultKind::Int => "Int",
        ResultKind::Word => "Word",
        ResultKind::Double => "Double",
        ResultKind::Void => "Void",
    }
}

fn function(row: &Row) -> String {
    let result = variant(row.result);
    let origin = match row.since {
        Origin::Standard(version) => format!("Standard({}, {})", version.0, version.1),
        Origin::Mpich => "Mpich".to_owned(),
        Origin::OpenMpi => "OpenMpi".to_owned(),
    };
    let fortran = row.fortran.as_ref().map_or_else(|| "None".to_owned(), |name| format!("Some({name:?})"));
    format!("Function::row({:?}, {}, {result}, {}, {origin}, {fortran})", row.name, row.args, row.variadic)
}

fn index(text: &mut String, name: &str, summary: &str, mut entries: Vec<(&str, usize)>) {
    entries.sort_unstable();
    let _ = write!(text, "\n/// {summary}\n#[rustfmt::skip]\npub(crate) static {name}: [u16; {}] = [", entries.len());
    for (place, (_, id)) in entries.iter().enumerate() {
        let before = if place % 16 == 0 { "\n    " } else { " " };
        let _ = write!(text, "{before}{id},");
    }
    text.push_str("\n];\n");
}

//! `bridge/abi/src/table.rs`: the table as Rust.

use crate::standard::DefinedBy;
use crate::table::{FunctionList, ListedFunction};
use crate::write::{array, elements, head, imported, lines};

/// The text of `table.rs`.
pub fn rust(table: &FunctionList) -> String {
    let rows = &table.rows;
    let origins = imported(rows.iter().map(|row| origin(row.since).chars().take_while(|c| *c != '(').collect()));
    let results = imported(rows.iter().map(|row| format!("{:?}", row.result)));
    let imports = format!(
        "\n\
         use crate::function::Function;\n\
         use crate::function::Origin::{{{origins}}};\n\
         use crate::function::ResultKind::{{{results}}};\n\
         \n\
         /// How many functions there are.\n\
         pub const COUNT: usize = {};\n",
        rows.len()
    );
    let functions = array(
        "Every function; the index is the function's number.",
        "pub static FUNCTIONS: [Function; COUNT] = ",
        &format!("\n{}", lines(rows.iter().map(function))),
    );
    let fortran = rows.iter().enumerate().filter_map(|(id, row)| Some((row.fortran.as_deref()?, id)));
    let mut fortran: Vec<(&str, usize)> = fortran.collect();
    fortran.sort_unstable();
    let by_fortran = array(
        "Numbers of the functions that Fortran has, in the order of their Fortran names.",
        &format!("pub(crate) static BY_FORTRAN: [u16; {}] = ", fortran.len()),
        &elements(fortran.iter().map(|(_, id)| id), 16, "    "),
    );
    head("The table of functions, and the order of their Fortran names.", "functions.tsv", "rust")
        + &imports
        + &functions
        + &by_fortran
}

fn origin(since: DefinedBy) -> String {
    match since {
        DefinedBy::Standard(version) => format!("Standard({}, {})", version.0, version.1),
        vendor => format!("{vendor:?}"),
    }
}

fn function(row: &ListedFunction) -> String {
    let ListedFunction { name, args, result, variadic, since, fortran, .. } = row;
    format!("    Function::row({name:?}, {args}, {result:?}, {variadic}, {}, {fortran:?}),", origin(*since))
}

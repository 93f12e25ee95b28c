//! What is generated: Rust tables, lists of entry points, `qmpi.h`, and tools in C.

pub(crate) mod macros;
pub(crate) mod numbering;
pub(crate) mod parameters;
pub(crate) mod qmpi;
pub(crate) mod rust;
pub(crate) mod stubs;
pub(crate) mod tool;

use std::collections::BTreeSet;
use std::fmt::Display;

/// The first lines of a file in Rust.
fn head(documentation: &str, source: &str, subcommand: &str) -> String {
    format!("//! {documentation}\n//!\n//! @generated from {source} by `shim-gen {subcommand}`.\n")
}

/// The items, each on a line of its own.
fn lines(items: impl IntoIterator<Item = impl Display>) -> String {
    items.into_iter().map(|item| format!("{item}\n")).collect()
}

/// The elements of an array, some to a line, which begins with `indent`.
fn elements(items: impl IntoIterator<Item = impl Display>, per_line: usize, indent: &str) -> String {
    let before = |place| if place % per_line == 0 { format!("\n{indent}") } else { " ".to_owned() };
    items.into_iter().enumerate().map(|(place, item)| format!("{}{item},", before(place))).collect::<String>() + "\n"
}

/// A static array in Rust: its documentation, what stands before its elements (`pub(crate) static NAME: [u16; 3] = `), and these with the
/// line breaks around them.
fn array(documentation: &str, declaration: &str, elements: &str) -> String {
    format!("\n/// {documentation}\n#[rustfmt::skip]\n{declaration}[{elements}];\n")
}

/// What braces of an import hold: each of the names once. An import that nothing uses would be a warning.
fn imported(names: impl Iterator<Item = String>) -> String {
    names.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
}

//! What is made from `parameters.tsv`: tables in Rust, and the page about kinds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::error::{Error, Result};
use crate::parameters::length::{CONSTANTS, Factor, factors};
use crate::parameters::rules::Rules;
use crate::parameters::{Direction, Parameters};

/// The text of `bridge/abi/src/parameters/kind.rs`: an enumeration of the kinds.
#[must_use]
pub fn kinds_rust(rules: &Rules) -> String {
    let mut text = "//! What parameters of MPI functions are.\n\
                    //!\n\
                    //! @generated from shim-gen/data/parameters.txt by `shim-gen parameters-kinds`.\n\
                    \n\
                    /// What a parameter is, whatever its type. The word of an argument is a value; of an array, and of what a function writes,\n\
                    /// it is the address of one.\n\
                    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]\n\
                    #[repr(u8)]\n\
                    pub enum Kind {\n"
        .to_owned();
    for (kind, meaning) in rules.kinds() {
        // Writing into a String cannot fail, here and below.
        let _ = writeln!(text, "    /// {}.\n    {},", documented(meaning), camel(kind));
    }
    text.push_str("}\n\nimpl Kind {\n    /// Every kind and its word in `parameters.tsv`.\n    #[rustfmt::skip]\n");
    let _ = writeln!(text, "    pub const ALL: [(Self, &'static str); {}] = [", rules.kinds().len());
    for (kind, _) in rules.kinds() {
        let _ = writeln!(text, "        (Self::{}, {kind:?}),", camel(kind));
    }
    text.push_str("    ];\n}\n");
    text
}

/// The text of `bridge/abi/src/parameters/table.rs`.
///
/// # Errors
/// If the length of a parameter names one that the function has not.
pub fn parameters_rust(parameters: &Parameters) -> Result<String> {
    let (mut names, mut types, mut lengths) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut rows = Vec::new();
    let mut starts = vec![0];
    for (function, list) in parameters.functions() {
        for parameter in list {
            let length = factors(&parameter.length, list).ok_or_else(|| Error::NoRule {
                function: function.to_owned(),
                parameter: parameter.name.clone(),
                ctype: parameter.ctype.clone(),
                what: "length",
            })?;
            names.insert(parameter.name.as_str());
            types.insert(parameter.ctype.as_str());
            lengths.insert(length.clone());
            rows.push((parameter, length));
        }
        starts.push(rows.len());
    }
    let (names, types, lengths) = (places(names), places(types), places(lengths));
    let mut text = format!(
        "//! The parameters of every function.\n\
         //!\n\
         //! @generated from parameters.tsv by `shim-gen parameters-rust`.\n\
         \n\
         use crate::parameters::Direction::{{In, InOut, Out, Result}};\n\
         use crate::parameters::Factor;\n\
         use crate::parameters::Kind::*;\n\
         use crate::parameters::Parameter;\n\
         use crate::table::COUNT;\n\
         \n\
         /// Parameters and results of all functions, one function after the other: name, type, kind, direction, length, at the root only.\n\
         #[rustfmt::skip]\n\
         pub(super) static PARAMETERS: [Parameter; {}] = [\n",
        rows.len()
    );
    for (parameter, length) in rows {
        let direction = match parameter.direction {
            Direction::In => "In",
            Direction::Out => "Out",
            Direction::InOut => "InOut",
            Direction::Result => "Result",
        };
        let (name, ctype) = (names[parameter.name.as_str()], types[parameter.ctype.as_str()]);
        let (kind, length) = (camel(&parameter.kind), lengths[&length]);
        let _ = writeln!(
            text,
            "    Parameter::row({name}, {ctype}, {kind}, {direction}, {length}, {}),",
            parameter.at_root
        );
    }
    text.push_str("];\n\n/// Where the parameters of each function begin.\n#[rustfmt::skip]\npub(super) static STARTS: [u16; COUNT + 1] = [");
    for (place, start) in starts.iter().enumerate() {
        let before = if place % 16 == 0 { "\n    " } else { " " };
        let _ = write!(text, "{before}{start},");
    }
    text.push_str("\n];\n");
    list(&mut text, "NAMES", "Names of parameters.", "&str", names.keys().map(|name| format!("{name:?}")));
    list(&mut text, "TYPES", "Their types, in C.", "&str", types.keys().map(|ctype| format!("{ctype:?}")));
    let lengths =
        lengths.keys().map(|length| format!("&[{}]", length.iter().map(shown).collect::<Vec<_>>().join(", ")));
    list(&mut text, "LENGTHS", "How many elements there are.", "&[Factor]", lengths);
    let constants = CONSTANTS.iter().map(|name| format!("{name:?}"));
    list(&mut text, "CONSTANTS", "Constants of `mpi.h` that lengths are given by.", "&str", constants);
    Ok(text)
}

fn places<T: Ord>(items: BTreeSet<T>) -> BTreeMap<T, usize> {
    items.into_iter().enumerate().map(|(place, item)| (item, place)).collect()
}

fn list(text: &mut String, name: &str, summary: &str, of: &str, items: impl ExactSizeIterator<Item = String>) {
    let count = items.len();
    let _ = writeln!(text, "\n/// {summary}\n#[rustfmt::skip]\npub(super) static {name}: [{of}; {count}] = [");
    for item in items {
        let _ = writeln!(text, "    {item},");
    }
    text.push_str("];\n");
}

/// A factor in Rust.
fn shown(factor: &Factor) -> String {
    match factor {
        Factor::Constant(name) => {
            format!("Factor::Constant({})", CONSTANTS.iter().position(|constant| constant == name).unwrap_or(0))
        }
        other => format!("Factor::{other:?}"),
    }
}

/// `ErrorCode` of `error_code`.
fn camel(kind: &str) -> String {
    kind.split('_')
        .flat_map(|word| word[..1].to_uppercase().chars().chain(word[1..].chars()).collect::<Vec<_>>())
        .collect()
}

/// A sentence for rustdoc: names of C in backticks, a capital letter first.
fn documented(meaning: &str) -> String {
    let words = meaning.split(' ').map(|word| {
        let name = word.trim_end_matches([',', '.', ':', ')']);
        if name.starts_with("MPI_") { word.replacen(name, &format!("`{name}`"), 1) } else { word.to_owned() }
    });
    let text = words.collect::<Vec<_>>().join(" ");
    text[..1].to_uppercase() + &text[1..]
}

/// The text of `docs/parameters.md`.
#[must_use]
pub fn parameters_page(parameters: &Parameters, rules: &Rules) -> String {
    let mut text = include_str!("../../data/parameters.md").to_owned();
    let mut table = String::new();
    for (kind, meaning) in rules.kinds() {
        let of = || parameters.functions().flat_map(|(_, list)| list).filter(|parameter| parameter.kind == kind);
        let types: BTreeSet<_> = of().map(|parameter| base(&parameter.ctype)).collect();
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        for parameter in of().filter(|parameter| parameter.direction != Direction::Result) {
            *names.entry(&parameter.name).or_default() += 1;
        }
        let mut frequent: Vec<_> = names.into_iter().collect();
        frequent.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
        let shown = |list: Vec<&str>| {
            let more = if list.len() > 3 { ", ..." } else { "" };
            list.iter().take(3).map(|text| format!("`{text}`")).collect::<Vec<_>>().join(", ") + more
        };
        let names = shown(frequent.into_iter().map(|(name, _)| name).collect());
        let types = shown(types.iter().map(String::as_str).collect());
        let _ = writeln!(table, "| `{kind}` | {} | {types} | {names} | {} |", documented(meaning), of().count());
    }
    let functions = parameters.functions().len();
    let count: usize = parameters
        .functions()
        .map(|(_, list)| list.iter().filter(|parameter| parameter.direction != Direction::Result).count())
        .sum();
    for (name, value) in
        [("@KINDS@", table.trim_end()), ("@FUNCTIONS@", &functions.to_string()), ("@COUNT@", &count.to_string())]
    {
        text = text.replace(name, value);
    }
    text
}

/// The type without `const`, stars and brackets.
fn base(ctype: &str) -> String {
    let text = ctype.replace("const ", "");
    text[..text.find(['*', '[']).unwrap_or(text.len())].trim().to_owned()
}

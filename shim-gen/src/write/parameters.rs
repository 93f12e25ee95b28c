//! What is made from `parameters.tsv`: tables in Rust, and the page about kinds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use crate::error::{Result, ShimError};
use crate::parameters::Parameters;
use crate::parameters::length::{CONSTANTS, factors};
use crate::parameters::row::ListedParameter;
use crate::parameters::rules::Rules;
use crate::parameters::shape::TypeShape;
use crate::write::{array, elements, head, lines};

/// The text of `bridge/abi/src/parameters/kind.rs`: an enumeration of the kinds.
pub fn kinds_rust(rules: &Rules) -> String {
    let variants =
        rules.kinds.iter().map(|(kind, meaning)| format!("    /// {}.\n    {},", documented(meaning), camel(kind)));
    let all = rules.kinds.iter().map(|(kind, _)| format!("        (Self::{}, {kind:?}),", camel(kind)));
    let source = "shim-gen/data/parameters.txt";
    head("What parameters of MPI functions are.", source, "parameters-kinds")
        + &format!(
            "\n\
         /// What a parameter is, whatever its type. The word of an argument is a value; of an array, and of what a function writes,\n\
         /// it is the address of one.\n\
         #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]\n\
         #[repr(u8)]\n\
         pub enum Kind {{\n{}}}\n\
         \n\
         impl Kind {{\n    /// Every kind and its word in `parameters.tsv`.\n    #[rustfmt::skip]\n    \
         pub const ALL: [(Self, &'static str); {}] = [\n{}    ];\n}}\n",
            lines(variants),
            rules.kinds.len(),
            lines(all)
        )
}

/// The text of `bridge/abi/src/parameters/table.rs`.
///
/// # Errors
/// If the length of a parameter names one that the function has not.
pub fn parameters_rust(parameters: &Parameters) -> Result<String> {
    let mut rows = Vec::new();
    let mut starts = vec![0];
    for (function, list) in &parameters.functions {
        for parameter in list {
            let ListedParameter { name, ctype, length, .. } = parameter;
            let unknown = || ShimError::NoRule(function.clone(), "length", ctype.clone(), name.clone());
            rows.push((parameter, factors(length, list).ok_or_else(unknown)?));
        }
        starts.push(rows.len());
    }
    let names = places(rows.iter().map(|(parameter, _)| parameter.name.as_str()));
    let types = places(rows.iter().map(|(parameter, _)| parameter.ctype.as_str()));
    let lengths = places(rows.iter().map(|(_, length)| length));
    let table = rows.iter().map(|(parameter, length)| {
        let (name, ctype) = (names[parameter.name.as_str()], types[parameter.ctype.as_str()]);
        let (kind, direction, length) = (camel(&parameter.kind), parameter.direction, lengths[length]);
        format!("    Parameter::row({name}, {ctype}, {kind}, {direction:?}, {length}, {}),", parameter.at_root)
    });
    let products = lengths.keys().map(|length| {
        let factors: Vec<_> = length.iter().map(|factor| format!("Factor::{factor}")).collect();
        format!("&[{}]", factors.join(", "))
    });
    Ok([
        head("The parameters of every function.", "parameters.tsv", "parameters-rust"),
        "\n\
         use crate::parameters::Direction::{In, InOut, Out, Result};\n\
         use crate::parameters::Factor;\n\
         use crate::parameters::Kind::*;\n\
         use crate::parameters::Parameter;\n\
         use crate::table::COUNT;\n"
            .to_owned(),
        array(
            "Parameters and results of all functions, one function after the other: name, type, kind, direction, length, at the root only.",
            &format!("pub(super) static PARAMETERS: [Parameter; {}] = ", rows.len()),
            &format!("\n{}", lines(table)),
        ),
        array(
            "Where the parameters of each function begin.",
            "pub(super) static STARTS: [u16; COUNT + 1] = ",
            &elements(starts, 16, "    "),
        ),
        list("NAMES", "Names of parameters.", "&str", quoted(names.keys())),
        list("TYPES", "Their types, in C.", "&str", quoted(types.keys())),
        list("LENGTHS", "How many elements there are.", "&[Factor]", products),
        list("CONSTANTS", "Constants of `mpi.h` that lengths are given by.", "&str", quoted(CONSTANTS.iter())),
    ]
    .concat())
}

/// Each item once, and its place among them.
fn places<T: Ord>(items: impl Iterator<Item = T>) -> BTreeMap<T, usize> {
    items.collect::<BTreeSet<_>>().into_iter().zip(0..).collect()
}

fn quoted(items: impl ExactSizeIterator<Item = impl Debug>) -> impl ExactSizeIterator<Item = String> {
    items.map(|item| format!("{item:?}"))
}

fn list(name: &str, summary: &str, of: &str, items: impl ExactSizeIterator<Item = String>) -> String {
    let declaration = format!("pub(super) static {name}: [{of}; {}] = ", items.len());
    array(summary, &declaration, &elements(items, 1, "    "))
}

/// `ErrorCode` of `error_code`.
fn camel(kind: &str) -> String {
    kind.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect()
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
pub fn parameters_page(parameters: &Parameters, rules: &Rules) -> String {
    let shown = |list: &[&str]| {
        let more = if list.len() > 3 { ", ..." } else { "" };
        list.iter().take(3).map(|text| format!("`{text}`")).collect::<Vec<_>>().join(", ") + more
    };
    let all = || parameters.functions.iter().flat_map(|(_, list)| list);
    let table = rules.kinds.iter().map(|(kind, meaning)| {
        let of: Vec<_> = all().filter(|parameter| parameter.kind == *kind).collect();
        let types: BTreeSet<_> = of.iter().map(|parameter| TypeShape::of(&parameter.ctype).base).collect();
        let types: Vec<_> = types.iter().map(String::as_str).collect();
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        for parameter in of.iter().filter(|parameter| !parameter.is_result()) {
            *names.entry(&parameter.name).or_default() += 1;
        }
        let mut frequent: Vec<_> = names.keys().copied().collect();
        frequent.sort_by_key(|name| std::cmp::Reverse(names[name]));
        let (types, frequent) = (shown(&types), shown(&frequent));
        format!("| `{kind}` | {} | {types} | {frequent} | {} |", documented(meaning), of.len())
    });
    let count = all().filter(|parameter| !parameter.is_result()).count();
    include_str!("../../data/parameters.md")
        .replace("@KINDS@", lines(table).trim_end())
        .replace("@FUNCTIONS@", &parameters.functions.len().to_string())
        .replace("@COUNT@", &count.to_string())
}

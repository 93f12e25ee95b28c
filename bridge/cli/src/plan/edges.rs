//! Which layer calls which: next(i, f) is the first layer below i that intercepts f, else the MPI library.
//!
//! Calls of Fortran are counted apart, as far as a layer has a Fortran wrapper for the function: the first layer that intercepts
//! it gets the call, in Fortran if it has such a wrapper; from there on it is a call of C.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

/// One layer as far as the edges are concerned. Functions are named as in C.
#[derive(Debug, Clone, Default)]
pub(crate) struct LayerNode {
    pub(crate) label: String,
    pub(crate) intercepts: BTreeSet<String>,
    /// The functions that it may call below: those it intercepts and those it calls as `PMPI_*`.
    pub(crate) calls: BTreeSet<String>,
    /// The functions that it may call past all layers: a QMPI tool's `QMPI_*` and `PMPI_*`, and calls of its own that are hidden.
    pub(crate) past: BTreeSet<String>,
    /// The functions that it has Fortran wrappers for.
    pub(crate) fortran: BTreeSet<String>,
    /// The functions that it may call below in Fortran.
    pub(crate) fortran_calls: BTreeSet<String>,
    /// The functions that are not MPI's and that it wraps.
    pub(crate) wraps: BTreeSet<String>,
    /// Those that it may call below: the same, and what it imports.
    pub(crate) other_calls: BTreeSet<String>,
    /// The functions that it may call past all layers in Fortran.
    pub(crate) fortran_past: BTreeSet<String>,
}

/// In which language a call arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Language {
    /// C, whatever the caller is written in.
    C,
    Fortran,
    /// C, of functions that are not MPI's.
    Other,
}

/// Calls from one layer that arrive at another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CallEdge {
    /// A label, or [`APPLICATION`].
    pub(crate) from: String,
    /// A label, [`MPI`] or [`PROCESS`].
    pub(crate) to: String,
    pub(crate) language: Language,
    /// The functions, those of MPI as `MPI_*`.
    pub(crate) functions: Vec<String>,
}

/// The outer end of every chain.
pub(crate) const APPLICATION: &str = "application";
/// The inner end of every chain.
pub(crate) const MPI: &str = "MPI library";

/// The inner end of chains of functions that are not MPI's: the C library, or whichever library has the function.
pub(crate) const PROCESS: &str = "process";

/// All edges, from the outside in. Calls of the application that no layer intercepts are left out: there is one for every other
/// function.
pub(crate) fn edges(nodes: &[LayerNode]) -> Vec<CallEdge> {
    let all = |functions: fn(&LayerNode) -> &BTreeSet<String>| -> BTreeSet<String> {
        nodes.iter().flat_map(|node| functions(node).iter().cloned()).collect()
    };
    let nothing = BTreeSet::new();
    let mut edges = edges_from(APPLICATION, Language::C, &all(|node| &node.intercepts), &nothing, nodes);
    edges.extend(edges_from(APPLICATION, Language::Fortran, &all(|node| &node.fortran), &nothing, nodes));
    edges.extend(edges_from(APPLICATION, Language::Other, &all(|node| &node.wraps), &nothing, nodes));
    for (i, node) in nodes.iter().enumerate() {
        let below = &nodes[i + 1..];
        edges.extend(edges_from(&node.label, Language::C, &node.calls, &node.past, below));
        edges.extend(edges_from(&node.label, Language::Fortran, &node.fortran_calls, &node.fortran_past, below));
        let is_shown = |name: &&String| nodes[i..].iter().any(|node| node.wraps.contains(*name));
        let others = node.other_calls.iter().filter(is_shown).cloned().collect();
        edges.extend(edges_from(&node.label, Language::Other, &others, &nothing, below));
    }
    edges
}

/// Does a layer get calls in this language? Below a layer without a Fortran wrapper the call goes on in C: such a layer gets it as it gets all
/// others.
fn gets(node: &LayerNode, language: Language, function: &str) -> bool {
    match language {
        Language::C => node.intercepts.contains(function),
        Language::Fortran => node.fortran.contains(function) || node.intercepts.contains(function),
        Language::Other => node.wraps.contains(function),
    }
}

/// One edge for each target of calls; the end of the chain is that of calls that no layer gets, and of those `past` all layers.
fn edges_from(
    label: &str,
    language: Language,
    calls: &BTreeSet<String>,
    past: &BTreeSet<String>,
    below: &[LayerNode],
) -> Vec<CallEdge> {
    let end = if language == Language::Other { PROCESS } else { MPI };
    let target = |function: &String| below.iter().position(|node| gets(node, language, function));
    // By position, so that the nearest layer comes first and the MPI library last.
    let mut targets: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for function in calls {
        targets.entry(target(function).unwrap_or(below.len())).or_default().insert(function.clone());
    }
    if !past.is_empty() {
        targets.entry(below.len()).or_default().extend(past.iter().cloned());
    }
    targets
        .into_iter()
        .map(|(next, functions)| CallEdge {
            from: label.to_owned(),
            to: below.get(next).map_or(end, |node| &node.label).to_owned(),
            language,
            functions: functions.into_iter().collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(label: &str, intercepts: &[&str], others: &[&str]) -> LayerNode {
        let intercepts: BTreeSet<String> = intercepts.iter().map(|&name| name.to_owned()).collect();
        let calls = intercepts.iter().cloned().chain(others.iter().map(|&name| name.to_owned())).collect();
        LayerNode { label: label.to_owned(), intercepts, calls, ..LayerNode::default() }
    }

    fn shown(nodes: &[LayerNode]) -> Vec<String> {
        let edges = edges(nodes);
        edges.iter().map(|edge| format!("{}>{}:{}", edge.from, edge.to, edge.functions.join(","))).collect()
    }

    #[test]
    fn functions_that_are_not_of_mpi() {
        let names = |names: &[&str]| -> BTreeSet<String> { names.iter().map(|&name| name.to_owned()).collect() };
        let others = |label: &str, wraps: &[&str], calls: &[&str]| LayerNode {
            label: label.to_owned(),
            wraps: names(wraps),
            other_calls: names(calls),
            ..LayerNode::default()
        };
        let nodes = [
            others("outer", &["open"], &["open", "write", "puts"]),
            others("inner", &["open", "write"], &["open", "write"]),
        ];
        assert_eq!(
            shown(&nodes),
            ["application>outer:open", "application>inner:write", "outer>inner:open,write", "inner>process:open,write"]
        );
    }

    #[test]
    fn every_function_takes_its_own_way() {
        let nodes = [
            node("outer", &["MPI_Init", "MPI_Send"], &["MPI_Comm_rank"]),
            node("middle", &["MPI_Init", "MPI_Recv"], &[]),
            node("inner", &["MPI_Send", "MPI_Comm_rank"], &[]),
        ];
        assert_eq!(
            shown(&nodes),
            [
                "application>outer:MPI_Init,MPI_Send",
                "application>middle:MPI_Recv",
                "application>inner:MPI_Comm_rank",
                "outer>middle:MPI_Init",
                "outer>inner:MPI_Comm_rank,MPI_Send",
                "middle>MPI library:MPI_Init,MPI_Recv",
                "inner>MPI library:MPI_Comm_rank,MPI_Send",
            ]
        );
    }

    fn names(functions: &[&str]) -> BTreeSet<String> {
        functions.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn what_goes_past_all_layers() {
        let mut native = node("native", &["MPI_Send"], &[]);
        native.past = names(&["MPI_Send", "MPI_Comm_rank"]);
        let edges = edges(&[native, node("below", &["MPI_Send", "MPI_Comm_rank"], &[])]);
        let from_native: Vec<_> = edges.iter().filter(|edge| edge.from == "native").collect();
        assert_eq!(
            (from_native[0].to.as_str(), &from_native[0].functions[..]),
            ("below", &["MPI_Send".to_owned()][..])
        );
        assert_eq!((from_native[1].to.as_str(), from_native[1].functions.len()), (MPI, 2));
    }

    #[test]
    fn fortran_ends_where_a_layer_has_no_wrapper_of_it() {
        let fortran = |label: &str| LayerNode {
            label: label.to_owned(),
            fortran: names(&["MPI_Send"]),
            fortran_calls: names(&["MPI_Send"]),
            ..LayerNode::default()
        };
        let nodes = [fortran("first"), fortran("second"), node("c", &["MPI_Send"], &[]), fortran("missed")];
        let shown: Vec<String> =
            edges(&nodes).iter().map(|edge| format!("{}>{} in {:?}", edge.from, edge.to, edge.language)).collect();
        assert_eq!(
            shown,
            [
                "application>c in C",
                "application>first in Fortran",
                "first>second in Fortran",
                "second>c in Fortran",
                "c>MPI library in C",
                "missed>MPI library in Fortran",
            ]
        );
    }

    #[test]
    fn no_layers_no_edges() {
        assert!(edges(&[]).is_empty());
    }
}

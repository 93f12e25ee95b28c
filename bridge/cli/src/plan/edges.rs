//! Which layer calls which: next(i, f) is the first layer below i that intercepts f, else the MPI library.
//!
//! Calls of Fortran are counted apart, as far as a layer has a Fortran wrapper for the function: the first layer that intercepts
//! it gets the call, in Fortran if it has such a wrapper; from there on it is a call of C.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

/// What a layer has to do with calls of one language. Functions are named as in C.
#[derive(Debug, Clone, Default)]
pub(crate) struct LayerCalls {
    /// The functions that it has wrappers for.
    pub(crate) wrapped: BTreeSet<String>,
    /// The functions that it may call below: in C those it intercepts and those it calls as `PMPI_*`; of other libraries what it imports.
    pub(crate) made: BTreeSet<String>,
    /// The functions that it may call past all layers: a QMPI tool's `QMPI_*` and `PMPI_*`, and calls of its own that are hidden.
    pub(crate) past: BTreeSet<String>,
}

/// One layer as far as the edges are concerned.
#[derive(Debug, Clone, Default)]
pub(crate) struct LayerNode {
    pub(crate) label: String,
    pub(crate) c: LayerCalls,
    pub(crate) fortran: LayerCalls,
    pub(crate) other: LayerCalls,
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

const LANGUAGES: [Language; 3] = [Language::C, Language::Fortran, Language::Other];

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

impl LayerNode {
    pub(crate) fn calls(&self, language: Language) -> &LayerCalls {
        match language {
            Language::C => &self.c,
            Language::Fortran => &self.fortran,
            Language::Other => &self.other,
        }
    }

    /// Does it get calls in this language? Below a layer without a Fortran wrapper the call goes on in C: such a layer gets it as it gets
    /// all others.
    fn gets(&self, language: Language, function: &str) -> bool {
        self.calls(language).wrapped.contains(function)
            || (language == Language::Fortran && self.c.wrapped.contains(function))
    }
}

/// All edges, from the outside in. Calls of the application that no layer intercepts are left out: there is one for every other
/// function.
pub(crate) fn edges(nodes: &[LayerNode]) -> Vec<CallEdge> {
    let mut edges = Vec::new();
    for language in LANGUAGES {
        let made = nodes.iter().flat_map(|node| &node.calls(language).wrapped);
        edges.extend(edges_from(APPLICATION, language, made, &BTreeSet::new(), nodes));
    }
    for (i, node) in nodes.iter().enumerate() {
        for language in LANGUAGES {
            let is_wrapped =
                |name: &&String| nodes[i..].iter().any(|node| node.calls(language).wrapped.contains(*name));
            let LayerCalls { made, past, .. } = node.calls(language);
            let made = made.iter().filter(|name| language != Language::Other || is_wrapped(name));
            edges.extend(edges_from(&node.label, language, made, past, &nodes[i + 1..]));
        }
    }
    edges
}

/// One edge for each target of calls; the end of the chain is that of calls that no layer gets, and of those `past` all layers.
fn edges_from<'a>(
    from: &str,
    language: Language,
    made: impl Iterator<Item = &'a String>,
    past: &'a BTreeSet<String>,
    below: &[LayerNode],
) -> Vec<CallEdge> {
    // By position, so that the nearest layer comes first and the MPI library last.
    let mut targets: BTreeMap<usize, BTreeSet<&String>> = BTreeMap::new();
    let target = |function: &String| below.iter().position(|node| node.gets(language, function)).unwrap_or(below.len());
    for (target, function) in
        made.map(|function| (target(function), function)).chain(past.iter().map(|name| (below.len(), name)))
    {
        targets.entry(target).or_default().insert(function);
    }
    let end = if language == Language::Other { PROCESS } else { MPI };
    let edge = |(next, functions): (usize, BTreeSet<&String>)| CallEdge {
        from: from.to_owned(),
        to: below.get(next).map_or(end, |node| &node.label).to_owned(),
        language,
        functions: functions.into_iter().cloned().collect(),
    };
    targets.into_iter().map(edge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(functions: &[&str]) -> BTreeSet<String> {
        functions.iter().map(|&name| name.to_owned()).collect()
    }

    fn calls(wrapped: &[&str], made: &[&str]) -> LayerCalls {
        LayerCalls { wrapped: names(wrapped), made: names(made), past: BTreeSet::new() }
    }

    fn node(label: &str, intercepts: &[&str], others: &[&str]) -> LayerNode {
        let c = calls(intercepts, &[intercepts, others].concat());
        LayerNode { label: label.to_owned(), c, ..LayerNode::default() }
    }

    fn shown(nodes: &[LayerNode]) -> Vec<String> {
        let edges = edges(nodes);
        edges.iter().map(|edge| format!("{}>{}:{}", edge.from, edge.to, edge.functions.join(","))).collect()
    }

    #[test]
    fn functions_that_are_not_of_mpi() {
        let others = |label: &str, wrapped: &[&str], made: &[&str]| LayerNode {
            label: label.to_owned(),
            other: calls(wrapped, made),
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

    #[test]
    fn what_goes_past_all_layers() {
        let mut native = node("native", &["MPI_Send"], &[]);
        native.c.past = names(&["MPI_Send", "MPI_Comm_rank"]);
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
            fortran: calls(&["MPI_Send"], &["MPI_Send"]),
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

//! Who calls whom: next(i, f) is the first layer below i that intercepts f, else the MPI library.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

/// One layer as far as the edges are concerned.
#[derive(Debug, Clone, Default)]
pub struct Node {
    /// Its label.
    pub label: String,
    /// The functions that it intercepts.
    pub intercepts: BTreeSet<String>,
    /// The functions that it may call below: those it intercepts and those it calls as `PMPI_*`.
    pub calls: BTreeSet<String>,
}

/// Calls from one layer that arrive at another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edge {
    /// A label, or [`APPLICATION`].
    pub from: String,
    /// A label, or [`MPI`].
    pub to: String,
    /// The functions, as `MPI_*`.
    pub functions: Vec<String>,
}

/// The outer end of every chain.
pub const APPLICATION: &str = "application";
/// The inner end of every chain.
pub const MPI: &str = "MPI library";

/// All edges, from the outside in. Calls of the application that nobody intercepts are left out: there is one for every other
/// function.
#[must_use]
pub fn edges(nodes: &[Node]) -> Vec<Edge> {
    let all: BTreeSet<String> = nodes.iter().flat_map(|node| node.intercepts.iter().cloned()).collect();
    let mut edges = from(APPLICATION, &all, nodes);
    for (i, node) in nodes.iter().enumerate() {
        edges.extend(from(&node.label, &node.calls, &nodes[i + 1..]));
    }
    edges
}

fn from(label: &str, calls: &BTreeSet<String>, below: &[Node]) -> Vec<Edge> {
    // By position, so that the nearest layer comes first and the MPI library last.
    let mut targets: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for function in calls {
        let next = below.iter().position(|node| node.intercepts.contains(function)).unwrap_or(below.len());
        targets.entry(next).or_default().push(function.clone());
    }
    targets
        .into_iter()
        .map(|(next, functions)| Edge {
            from: label.to_owned(),
            to: below.get(next).map_or(MPI, |node| &node.label).to_owned(),
            functions,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(label: &str, intercepts: &[&str], others: &[&str]) -> Node {
        let intercepts: BTreeSet<String> = intercepts.iter().map(|&name| name.to_owned()).collect();
        let calls = intercepts.iter().cloned().chain(others.iter().map(|&name| name.to_owned())).collect();
        Node { label: label.to_owned(), intercepts, calls }
    }

    #[test]
    fn every_function_takes_its_own_way() {
        let nodes = [
            node("outer", &["MPI_Init", "MPI_Send"], &["MPI_Comm_rank"]),
            node("middle", &["MPI_Init", "MPI_Recv"], &[]),
            node("inner", &["MPI_Send", "MPI_Comm_rank"], &[]),
        ];
        let shown: Vec<String> = edges(&nodes)
            .iter()
            .map(|edge| format!("{}>{}:{}", edge.from, edge.to, edge.functions.join(",")))
            .collect();
        assert_eq!(
            shown,
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
    fn no_layers_no_edges() {
        assert!(edges(&[]).is_empty());
    }
}

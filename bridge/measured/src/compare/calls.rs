//! The calls of all runs of two sides, compared: what came through each edge on each rank, and which wrappers a side lacks.

use std::collections::BTreeSet;

use crate::compare::edge::ComparedEdge;
use crate::compare::finding::{Aspect, Finding, Varying};
use crate::compare::recorded::{Recorded, RecordedRank};
use crate::job::MeasuredLayer;
use crate::trace::Lines;

/// Compares the calls that came through each edge on each rank.
pub(super) fn compare(sides: [&[Recorded]; 2], names: [&'static str; 2], varying: &mut Varying) -> Vec<Finding> {
    let ranks: BTreeSet<u32> =
        sides.iter().flat_map(|side| side.iter()).flat_map(|run| run.ranks.keys().copied()).collect();
    let (mut found, mut lines) = (Vec::new(), Lines::default());
    for rank in ranks {
        // A rank that left nothing in some run is compared in the others.
        let of_rank = sides.map(|side| side.iter().filter_map(|run| run.ranks.get(&rank)).collect::<Vec<_>>());
        if of_rank.iter().any(Vec::is_empty) {
            continue;
        }
        let edges = [0, 1].map(|place| ComparedEdge { place, rank, names, sides: &of_rank });
        let mut counts = edges.each_ref().map(|edge| edge.counts(varying));
        let is_another_number = counts.iter().any(|counts| !counts.is_empty());
        for (edge, counts) in edges.iter().zip(&mut counts) {
            let mut calls = edge.calls(counts, varying, &mut lines);
            // Requests are numbered, and MPICH has one handle for all that are completed at once: more or fewer of them change the numbers of
            // others.
            calls.retain(|(_, is_of_numbers)| !(is_another_number && *is_of_numbers));
            found.extend(std::mem::take(counts).into_values());
            found.extend(calls.into_iter().map(|(finding, _)| finding));
        }
        found.extend(edges[1].leaked());
    }
    found
}

/// Functions that the program calls on both sides, and that come to a layer on one of them only. `fortran`: those that may come to a tool of each
/// side in Fortran, which is not seen.
pub(super) fn wrappers(
    sides: [&[Recorded]; 2],
    names: [&'static str; 2],
    fortran: [&BTreeSet<String>; 2],
) -> Vec<Finding> {
    let measured = sides.map(|side| side.iter().find_map(|run| Some((&run.ranks, run.job.as_ref()?.tools()))));
    let [Some((old, old_tools)), Some((new, new_tools))] = measured else { return Vec::new() };
    if old_tools.len() != new_tools.len() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for tools in old_tools.iter().zip(new_tools).map(<[&MeasuredLayer; 2]>::from) {
        let functions: BTreeSet<&String> = tools.iter().flat_map(|tool| tool.functions.keys()).collect();
        for function in functions {
            let comes_to = |tool: &MeasuredLayer| tool.functions.get(function).is_some_and(|calls| calls.calls_in > 0);
            // The side on which the function comes to the tool, and the one on which it does not.
            let (here, there) = match tools.map(comes_to) {
                [true, false] => (0, 1),
                [false, true] => (1, 0),
                _ => continue,
            };
            if fortran[there].contains(function) {
                continue;
            }
            let label = |side: usize| tools[side].label.trim_end_matches(" (program)");
            let message = format!(
                "{function} comes to {} on the {} side, and goes past {} on the {}: it has no wrapper of it",
                label(here),
                names[here],
                label(there),
                names[there]
            );
            // What does not come through the edge above on both sides is another finding.
            let calls = |recorded: &RecordedRank| recorded.edges[0].counts.contains_key(function);
            let both = old.iter().filter_map(|(rank, old)| Some((rank, old, new.get(rank)?)));
            for (rank, ..) in both.filter(|(_, old, new)| calls(old) && calls(new)) {
                let finding = Finding::new(Aspect::Wrapper, message.clone());
                found.push(Finding { rank: Some(*rank), function: Some(function.clone()), ..finding });
            }
        }
    }
    found
}

//! The calls of all runs of two sides, compared: what came through each edge on each rank, and which wrappers a side lacks.

use std::collections::BTreeSet;

use crate::compare::edge::ComparedEdge;
use crate::compare::finding::{Aspect, Finding, Varying};
use crate::compare::recorded::{Recorded, RecordedRank};
use crate::job::MeasuredJob;
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
        let edges = [Aspect::CallsIn, Aspect::CallsOut].map(|kind| ComparedEdge { kind, rank, names });
        let mut counts = edges.each_ref().map(|edge| edge.counts(&of_rank, varying));
        let is_another_number = counts.iter().any(|counts| !counts.is_empty());
        for (edge, counts) in edges.iter().zip(&mut counts) {
            let mut calls = edge.calls(&of_rank, counts, varying, &mut lines);
            // Requests are numbered, and MPICH has one handle for all that are completed at once: more or fewer of them change the numbers of
            // others.
            calls.retain(|(_, is_of_numbers)| !(is_another_number && *is_of_numbers));
            found.extend(std::mem::take(counts).into_values());
            found.extend(calls.into_iter().map(|(finding, _)| finding));
            if edge.kind == Aspect::CallsOut {
                found.extend(edge.leaked(&of_rank));
            }
        }
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
    let [Some(old), Some(new)] = sides.map(|side| side.iter().find(|run| run.job.is_some())) else { return Vec::new() };
    let sets = [old, new].map(Recorded::wrapped);
    if sets[0].len() != sets[1].len() {
        return Vec::new();
    }
    let label = |run: &Recorded, place: usize| {
        let layers = run.job.as_ref().map(MeasuredJob::tools).unwrap_or_default();
        layers[place].label.trim_end_matches(" (program)").to_owned()
    };
    // What does not come through the edge above on both sides is another finding.
    let callers = |run: &Recorded, function: &str| -> BTreeSet<u32> {
        let calls =
            |rank: &RecordedRank| rank.edges.get(&Aspect::CallsIn).is_some_and(|edge| edge.contains_key(function));
        run.ranks.iter().filter(|(_, rank)| calls(rank)).map(|(rank, _)| *rank).collect()
    };
    let mut found = Vec::new();
    for (place, (left, right)) in sets[0].iter().zip(&sets[1]).enumerate() {
        for function in left.symmetric_difference(right) {
            // The side on which the function comes to the tool, and the one on which it does not.
            let ((here, side), (there, other)) = match left.contains(function) {
                true => ((old, 0), (new, 1)),
                false => ((new, 1), (old, 0)),
            };
            if fortran[other].contains(*function) {
                continue;
            }
            let message = format!(
                "{function} comes to {} on the {} side, and goes past {} on the {}: it has no wrapper of it",
                label(here, place),
                names[side],
                label(there, place),
                names[other]
            );
            for rank in callers(old, function).intersection(&callers(new, function)) {
                let finding = Finding::new(Aspect::Wrapper, message.clone());
                found.push(Finding { rank: Some(*rank), function: Some((*function).to_owned()), ..finding });
            }
        }
    }
    found
}

//! What came through one edge on one rank, on both sides: numbers of calls, the calls one by one, and requests that were left behind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::compare::finding::{Aspect, Finding, Varying, vary};
use crate::compare::record;
use crate::compare::recorded::RecordedRank;
use crate::compare::sequence::{self, Difference, DifferenceKind};
use crate::compare::token::Item;
use crate::trace::Lines;

/// An edge of a rank.
pub(super) struct ComparedEdge {
    /// Which.
    pub(super) kind: Aspect,
    pub(super) rank: u32,
    pub(super) names: [&'static str; 2],
}

impl ComparedEdge {
    fn finding(&self, function: &str, message: String) -> Finding {
        Finding { rank: Some(self.rank), function: Some(function.to_owned()), ..Finding::new(self.kind, message) }
    }

    /// Functions that are called another number of times.
    pub(super) fn counts(&self, sides: &[Vec<&RecordedRank>; 2], varying: &mut Varying) -> BTreeMap<String, Finding> {
        let edges = sides.each_ref().map(|side| side.iter().map(|rank| rank.edges.get(&self.kind)).collect::<Vec<_>>());
        let mut found = BTreeMap::new();
        for (function, numbers) in numbers(&edges) {
            match numbers {
                None => self.vary(varying, function),
                Some([old, new]) if old == new => {}
                Some([old, new]) => {
                    let plural = if old == 1 { "" } else { "s" };
                    let [old_name, new_name] = self.names;
                    let message =
                        format!("{function}: {old} call{plural} on the {old_name} side, {new} on the {new_name}");
                    found.insert(function.clone(), self.finding(function, message));
                }
            }
        }
        found
    }

    /// What differs in the calls one by one, as far as they are known, and whether it is numbers of requests only. What is missing or added gives
    /// its place to the finding that there is of their number.
    pub(super) fn calls(
        &self,
        sides: &[Vec<&RecordedRank>; 2],
        counts: &mut BTreeMap<String, Finding>,
        varying: &mut Varying,
        lines: &mut Lines,
    ) -> Vec<(Finding, bool)> {
        let threads = sides
            .each_ref()
            .map(|side| side.iter().filter_map(|rank| rank.threads.get(&self.kind)).collect::<Vec<_>>());
        let mut found: Vec<(Finding, bool)> = Vec::new();
        let is_cut = sides.iter().flatten().any(|rank| rank.is_cut);
        let common = threads.iter().flatten().map(|threads| threads.len()).min().unwrap_or(0);
        for thread in 0..common {
            let runs =
                threads.each_ref().map(|side| side.iter().map(|threads| threads[thread].clone()).collect::<Vec<_>>());
            if runs.iter().any(Vec::is_empty) {
                continue;
            }
            let runs = if is_cut { same_length(runs) } else { runs };
            let compared = sequence::compare(&runs[0], &runs[1]);
            compared.varying.iter().for_each(|function| self.vary(varying, function));
            if compared.is_unordered {
                self.vary(varying, &format!("the order of calls on rank {}", self.rank));
            }
            for difference in &compared.differences {
                let (function, place) = (&*difference.item.key, difference.place + 1);
                let mut site = || difference.item.site.as_ref().map(|site| lines.name(site));
                let counted = match difference.kind {
                    DifferenceKind::Missing | DifferenceKind::Added => counts.get_mut(function),
                    DifferenceKind::Moved(_) | DifferenceKind::Changed(..) => None,
                };
                if let Some(counted) = counted {
                    if counted.call.is_none() {
                        (counted.call, counted.thread) = (Some(place), u32::try_from(thread).ok());
                        counted.site = site();
                    }
                    continue;
                }
                let message = self.message(difference);
                match found.iter_mut().find(|(known, _)| known.message == message) {
                    // Each call of the same kind has the same mistake: the first is shown.
                    Some((known, _)) => known.times += 1,
                    None => {
                        let thread = u32::try_from(thread).ok();
                        let site = site();
                        let finding = Finding { call: Some(place), thread, site, ..self.finding(function, message) };
                        found.push((finding, is_of_numbers(difference)));
                    }
                }
            }
        }
        found
    }

    /// Requests that one side leaves behind, and the other does not.
    pub(super) fn leaked(&self, sides: &[Vec<&RecordedRank>; 2]) -> Vec<Finding> {
        let leaked = sides
            .each_ref()
            .map(|side| side.iter().filter_map(|rank| rank.leaked.as_ref()).map(Some).collect::<Vec<_>>());
        if leaked.iter().any(Vec::is_empty) {
            return Vec::new();
        }
        let [old_name, new_name] = self.names;
        let finding = |(function, numbers): (&String, Option<[u64; 2]>)| {
            let [old, new] = numbers.filter(|[old, new]| old != new)?;
            let message = match old {
                0 => format!("{function}: {new} requests of it are never completed on the {new_name} side"),
                old => format!(
                    "{function}: {old} requests of it are never completed on the {old_name} side, {new} on the {new_name}"
                ),
            };
            Some(self.finding(function, message))
        };
        numbers(&leaked).filter_map(finding).collect()
    }

    fn message(&self, difference: &Difference) -> String {
        let [old_name, new_name] = self.names;
        let old = &difference.item;
        match &difference.kind {
            DifferenceKind::Missing => format!("{} only on the {old_name} side", old.text()),
            DifferenceKind::Added => format!("{} only on the {new_name} side", old.text()),
            DifferenceKind::Moved(new) => {
                format!("{} comes in another order: on the {new_name} side it is call {}", old.key, new + 1)
            }
            DifferenceKind::Changed(_, new, tokens) => {
                // What a call gives back is not there where it says that it failed.
                let result = old.tokens.len().saturating_sub(1);
                let tokens = if tokens.contains(&result) { &vec![result] } else { tokens };
                let list =
                    |item: &Item| tokens.iter().map(|token| &*item.tokens[*token]).collect::<Vec<_>>().join(", ");
                format!("{}: {} on the {old_name} side, {} on the {new_name}", old.key, list(old), list(new))
            }
        }
    }

    fn vary(&self, varying: &mut Varying, what: &str) {
        vary(varying, self.kind.title(), what);
    }
}

/// The number of each function on both sides; `None` if it varies between runs of one side.
fn numbers<'a>(
    sides: &'a [Vec<Option<&'a BTreeMap<String, u64>>>; 2],
) -> impl Iterator<Item = (&'a String, Option<[u64; 2]>)> {
    let functions: BTreeSet<&String> = sides.iter().flatten().flatten().flat_map(|counts| counts.keys()).collect();
    functions.into_iter().map(move |function| {
        let number = |counts: &Option<&BTreeMap<String, u64>>| {
            counts.and_then(|known| known.get(function)).copied().unwrap_or(0)
        };
        let [old, new] = sides.each_ref().map(|side| side.iter().map(number).collect::<BTreeSet<u64>>());
        let one = |side: BTreeSet<u64>| if side.len() == 1 { side.first().copied() } else { None };
        (function, one(old).zip(one(new)).map(|(old, new)| [old, new]))
    })
}

/// As many calls of each run as there are of all.
fn same_length(mut runs: [Vec<Vec<Arc<Item>>>; 2]) -> [Vec<Vec<Arc<Item>>>; 2] {
    let least = runs.iter().flatten().map(Vec::len).min().unwrap_or(0);
    runs.iter_mut().flatten().for_each(|run| run.truncate(least));
    runs
}

/// Do only numbers of requests differ?
fn is_of_numbers(difference: &Difference) -> bool {
    let DifferenceKind::Changed(_, new, tokens) = &difference.kind else { return false };
    let old = &difference.item;
    tokens
        .iter()
        .all(|token| record::without_requests(&old.tokens[*token]) == record::without_requests(&new.tokens[*token]))
}

//! What came through one edge on one rank, on both sides: numbers of calls, the calls one by one, and requests that were left behind.

use std::collections::{BTreeMap, BTreeSet};

use crate::compare::finding::{Finding, Varying, vary};
use crate::compare::record;
use crate::compare::recorded::{EDGES, RecordedRank};
use crate::compare::sequence::{self, Difference, DifferenceKind};
use crate::compare::token::Item;
use crate::trace::Lines;

/// An edge of a rank.
pub(super) struct ComparedEdge<'a> {
    /// Which of [`EDGES`].
    pub(super) place: usize,
    pub(super) rank: u32,
    pub(super) names: [&'static str; 2],
    /// What each run of both sides recorded.
    pub(super) sides: &'a [Vec<&'a RecordedRank>; 2],
}

impl ComparedEdge<'_> {
    fn finding(&self, function: &str, message: String) -> Finding {
        let finding = Finding::new(EDGES[self.place], message);
        Finding { rank: Some(self.rank), function: Some(function.to_owned()), ..finding }
    }

    /// Functions that are called another number of times.
    pub(super) fn counts(&self, varying: &mut Varying) -> BTreeMap<String, Finding> {
        let [old_name, new_name] = self.names;
        let counts = self.sides.each_ref().map(|side| side.iter().map(|rank| &rank.edges[self.place].counts).collect());
        let mut found = BTreeMap::new();
        for (function, numbers) in numbers(&counts) {
            match numbers {
                None => self.vary(varying, function),
                Some([old, new]) if old == new => {}
                Some([old, new]) => {
                    let calls = if old == 1 { "call" } else { "calls" };
                    let message = format!("{function}: {old} {calls} on the {old_name} side, {new} on the {new_name}");
                    found.insert(function.to_owned(), self.finding(function, message));
                }
            }
        }
        found
    }

    /// What differs in the calls one by one, as far as they are known, and whether it is numbers of requests only. What is missing or added gives
    /// its place to the finding that there is of their number.
    pub(super) fn calls(
        &self,
        counts: &mut BTreeMap<String, Finding>,
        varying: &mut Varying,
        lines: &mut Lines,
    ) -> Vec<(Finding, bool)> {
        let threads = self
            .sides
            .each_ref()
            .map(|side| side.iter().filter_map(|rank| rank.edges[self.place].threads.as_ref()).collect::<Vec<_>>());
        let mut found: Vec<(Finding, bool)> = Vec::new();
        let is_cut = self.sides.iter().flatten().any(|rank| rank.is_cut);
        let common = threads.iter().flatten().map(|threads| threads.len()).min().unwrap_or(0);
        for thread in 0..common {
            let mut runs =
                threads.each_ref().map(|side| side.iter().map(|threads| threads[thread].clone()).collect::<Vec<_>>());
            if runs.iter().any(Vec::is_empty) {
                continue;
            }
            if is_cut {
                // As many calls of each run as there are of all.
                let least = runs.iter().flatten().map(Vec::len).min().unwrap_or(0);
                runs.iter_mut().flatten().for_each(|run| run.truncate(least));
            }
            let compared = sequence::compare(&runs[0], &runs[1]);
            compared.varying.iter().for_each(|function| self.vary(varying, function));
            if compared.is_unordered {
                self.vary(varying, &format!("the order of calls on rank {}", self.rank));
            }
            for difference in &compared.differences {
                let function = &*difference.item.key;
                let mut locate = |finding: &mut Finding| {
                    (finding.call, finding.thread) = (Some(difference.place + 1), u32::try_from(thread).ok());
                    finding.site = difference.item.site.as_ref().map(|site| lines.name(site));
                };
                let is_counted = matches!(difference.kind, DifferenceKind::Missing | DifferenceKind::Added);
                if let Some(counted) = counts.get_mut(function).filter(|_| is_counted) {
                    if counted.call.is_none() {
                        locate(counted);
                    }
                    continue;
                }
                let message = self.message(difference);
                if let Some((known, _)) = found.iter_mut().find(|(known, _)| known.message == message) {
                    // Each call of the same kind has the same mistake: the first is shown.
                    known.times += 1;
                    continue;
                }
                let mut finding = self.finding(function, message);
                locate(&mut finding);
                found.push((finding, is_of_numbers(difference)));
            }
        }
        found
    }

    /// Requests that one side leaves behind, and the other does not.
    pub(super) fn leaked(&self) -> Vec<Finding> {
        let leaked =
            self.sides.each_ref().map(|side| side.iter().filter_map(|rank| rank.leaked.as_ref()).collect::<Vec<_>>());
        if leaked.iter().any(Vec::is_empty) {
            return Vec::new();
        }
        let [old_name, new_name] = self.names;
        let finding = |(function, numbers): (&str, Option<[u64; 2]>)| {
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
        vary(varying, EDGES[self.place].title(), what);
    }
}

/// The number of each function on both sides; `None` if it varies between runs of one side.
fn numbers<'a>(sides: &'a [Vec<&'a BTreeMap<String, u64>>; 2]) -> impl Iterator<Item = (&'a str, Option<[u64; 2]>)> {
    let functions: BTreeSet<&String> = sides.iter().flatten().flat_map(|counts| counts.keys()).collect();
    functions.into_iter().map(move |function| {
        let one = |side: &Vec<&BTreeMap<String, u64>>| {
            let mut numbers = side.iter().map(|counts| counts.get(function).copied().unwrap_or(0));
            let first = numbers.next()?;
            numbers.all(|number| number == first).then_some(first)
        };
        (function.as_str(), one(&sides[0]).zip(one(&sides[1])).map(<[u64; 2]>::from))
    })
}

/// Do only numbers of requests differ?
fn is_of_numbers(difference: &Difference) -> bool {
    let DifferenceKind::Changed(_, new, tokens) = &difference.kind else { return false };
    let is_same = |token: &usize| {
        let [old, new] = [&difference.item, new].map(|item| record::without_requests(&item.tokens[*token]));
        old == new
    };
    tokens.iter().all(is_same)
}

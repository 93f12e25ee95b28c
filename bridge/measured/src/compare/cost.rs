//! What a call costs in the tools of each side, and whether that is more than chance.
//!
//! A machine that does something else makes calls slower: some of a run, all of a short while, or those of one process. So a difference is one
//! that nearly every call has, in every run, and of which no run of one side, held against another of the same side, has as much.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::compare::finding::{Aspect, Finding};
use crate::compare::quartiles::Quartiles;
use crate::compare::recorded::Recorded;
use crate::job::median;

/// A difference that is smaller is no finding, whatever the ratio: it is that of a few instructions.
pub(super) const LEAST_NS: f64 = 500.0;

/// So many runs of each side have to agree.
const LEAST_RUNS: usize = 3;

/// What a function costs, in the tools and without what they call.
#[derive(Debug, Clone, Serialize)]
pub struct FunctionCost {
    pub function: String,
    /// The median of the medians of all runs and ranks, in nanoseconds a call.
    pub old_ns: f64,
    /// The median of the medians on the new side.
    pub new_ns: f64,
    pub ratio: f64,
    /// The least and the greatest ratio of a rank's medians in two runs, one of each side.
    pub range: (f64, f64),
    /// How many runs of each side have enough calls of it.
    pub runs: (usize, usize),
    /// Ranks on which three quarters of the calls in every run of the new side are slower than three quarters of those in every run of the
    /// old side, beyond the ratio and the time that are a finding.
    pub slow_ranks: Vec<u32>,
}

/// A function's runs on each rank.
type QuartilesByRank = BTreeMap<u32, Vec<Quartiles>>;

/// Costs of functions that are called often enough on both sides.
pub(super) fn costs(sides: [&[Recorded]; 2], slower: f64) -> Vec<FunctionCost> {
    let [old, new] = sides.map(runs);
    let both = old.iter().filter_map(|(function, old)| Some((function, old, new.get(function)?)));
    both.map(|(function, old, new)| FunctionCost::of(function, old, new, slower)).collect()
}

impl FunctionCost {
    fn of(function: &str, old: &QuartilesByRank, new: &QuartilesByRank, slower: f64) -> Self {
        let all = |ranks: &QuartilesByRank| median(ranks.values().flatten().map(|run| run.median).collect());
        let (old_ns, new_ns) = (all(old), all(new));
        let (mut range, mut slow_ranks) = ((f64::INFINITY, 0.0_f64), Vec::new());
        for (rank, old, new) in old.iter().filter_map(|(rank, old)| Some((rank, old, new.get(rank)?))) {
            for (old, new) in old.iter().flat_map(|old| new.iter().map(move |new| (old, new))) {
                let ratio = ratio(old.median, new.median);
                range = (range.0.min(ratio), range.1.max(ratio));
            }
            if is_slower(old, new, slower) {
                slow_ranks.push(*rank);
            }
        }
        let most = |ranks: &QuartilesByRank| ranks.values().map(Vec::len).max().unwrap_or(0);
        let (ratio, runs) = (ratio(old_ns, new_ns), (most(old), most(new)));
        Self { function: function.to_owned(), old_ns, new_ns, ratio, range, runs, slow_ranks }
    }
}

/// A time of less than a nanosecond is none that a probe can measure.
fn ratio(old: f64, new: f64) -> f64 {
    new.max(1.0) / old.max(1.0)
}

/// On one rank: is every run of the new side slower than every run of the old one?
fn is_slower(old: &[Quartiles], new: &[Quartiles], slower: f64) -> bool {
    let most = old.iter().map(|run| run.upper).fold(0.0, f64::max);
    let least = new.iter().map(|run| run.lower).fold(f64::INFINITY, f64::min);
    old.len().min(new.len()) >= LEAST_RUNS && least > slower * most && least - most > LEAST_NS
}

/// Those that are slower on some rank.
pub(super) fn findings(costs: &[FunctionCost], slower: f64, names: [&'static str; 2]) -> Vec<Finding> {
    let finding = |cost: &FunctionCost| -> Vec<Finding> {
        let message = format!(
            "{}: {:.2} µs a call on the {} side, {:.2} µs on the {}, {:.1} times as much (in any two runs {:.1} to {:.1}; more than {slower} in all of them is a finding)",
            cost.function,
            cost.old_ns / 1e3,
            names[0],
            cost.new_ns / 1e3,
            names[1],
            cost.ratio,
            cost.range.0,
            cost.range.1
        );
        let of = |rank: &u32| {
            let finding = Finding::new(Aspect::Cost, message.clone());
            Finding { rank: Some(*rank), function: Some(cost.function.clone()), ..finding }
        };
        cost.slow_ranks.iter().map(of).collect()
    };
    costs.iter().flat_map(finding).collect()
}

/// The runs in which a rank calls a function often enough. A rank that does so in some runs of a side only is left out.
fn runs(side: &[Recorded]) -> BTreeMap<String, QuartilesByRank> {
    let mut runs: BTreeMap<String, QuartilesByRank> = BTreeMap::new();
    let mut of_rank: BTreeMap<u32, usize> = BTreeMap::new();
    for (rank, recorded) in side.iter().flat_map(|run| &run.ranks) {
        *of_rank.entry(*rank).or_default() += 1;
        for (function, quartiles) in &recorded.costs {
            runs.entry(function.clone()).or_default().entry(*rank).or_default().push(*quartiles);
        }
    }
    runs.values_mut().for_each(|ranks| ranks.retain(|rank, runs| runs.len() == of_rank[rank]));
    runs.retain(|_, ranks| !ranks.is_empty());
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs in which each call takes `time`, and so many of twenty `slow` times as long.
    fn runs(count: usize, time: f64, slow: f64, of_twenty: usize) -> Vec<Quartiles> {
        let call = |run: usize, call: usize| {
            let noise = 1.0 + (run * 7 + call * 3) as f64 / 1000.0;
            if call < of_twenty { time * slow * noise } else { time * noise }
        };
        (0..count).map(|run| Quartiles::of((0..20).map(|number| call(run, number)).collect()).unwrap()).collect()
    }

    fn finds(old: &[Quartiles], new: &[Quartiles]) -> bool {
        let of_rank = |runs: &[Quartiles]| BTreeMap::from([(0, runs.to_vec())]);
        let cost = FunctionCost::of("MPI_Send", &of_rank(old), &of_rank(new), 1.5);
        !findings(&[cost], 1.5, ["old", "new"]).is_empty()
    }

    #[test]
    fn slower_in_every_call() {
        let (quiet, slow) = (runs(6, 1000.0, 1.0, 0), runs(6, 3000.0, 1.0, 0));
        assert!(finds(&quiet, &slow));
        assert!(!finds(&slow, &quiet), "quicker is no finding");
        assert!(!finds(&quiet, &quiet));
        assert!(!finds(&runs(6, 100.0, 1.0, 0), &runs(6, 300.0, 1.0, 0)), "a few instructions");
        assert!(
            finds(&quiet[..3], &slow[..3]) && !finds(&quiet[..2], &slow[..2]),
            "two runs are like each other by chance"
        );
    }

    #[test]
    fn a_busy_machine() {
        let quiet = runs(6, 1000.0, 1.0, 0);
        let in_some_calls = runs(6, 1000.0, 1000.0, 4);
        assert!(!finds(&quiet, &in_some_calls), "the mean is 200 times as much");
        let mut in_most_runs = runs(6, 5000.0, 1.0, 0);
        in_most_runs[3] = quiet[3];
        assert!(!finds(&quiet, &in_most_runs), "one run is as quick as ever");
        let mut noisy = quiet.clone();
        noisy[0] = runs(1, 9000.0, 1.0, 0)[0];
        assert!(!finds(&noisy, &runs(6, 5000.0, 1.0, 0)), "the old side varies by as much");
        // A lock that a thread of the tool has half of the time.
        let waits = runs(6, 50.0, 2000.0, 10);
        assert!(!finds(&waits, &waits) && !finds(&quiet, &waits) && !finds(&waits, &quiet));
    }

    #[test]
    fn ranks_for_themselves() {
        let ranks = |second: f64| BTreeMap::from([(0, runs(3, 1000.0, 1.0, 0)), (1, runs(3, second, 1.0, 0))]);
        assert_eq!(FunctionCost::of("MPI_Send", &ranks(1000.0), &ranks(3000.0), 1.5).slow_ranks, [1]);
        assert_eq!(
            FunctionCost::of("MPI_Send", &ranks(3000.0), &ranks(3000.0), 1.5).slow_ranks,
            [0; 0],
            "a root may have more to do"
        );
    }

    #[test]
    fn medians() {
        assert_eq!(
            (median(vec![3.0, 1.0, 2.0]), median(vec![4.0, 1.0, 2.0, 3.0]), median(Vec::new())),
            (2.0, 2.5, 0.0)
        );
        assert_eq!(Quartiles::of(vec![1.0; 9]), None);
    }
}

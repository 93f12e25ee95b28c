//! What a call costs in the tools of each side, and whether that is more than chance.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::compare::calls::{self, Recorded};
use crate::compare::finding::{Finding, Kind};

/// A difference that is smaller is no finding, whatever the ratio: it is that of a few instructions.
pub const LEAST_NS: f64 = 500.0;

/// A function that is called less often in a run says nothing: a page fault is as long as all of its calls.
const LEAST_CALLS: u64 = 10;

/// How often the samples are drawn again.
const DRAWS: usize = 2000;

/// What a function costs, in the tools and without what they call.
#[derive(Debug, Clone, Serialize)]
pub struct Cost {
    /// The function.
    pub function: String,
    /// The median of all runs and ranks, in nanoseconds a call.
    pub old_ns: f64,
    /// The same of the new side.
    pub new_ns: f64,
    /// The ratio of the medians.
    pub ratio: f64,
    /// What it lies in with 99 % confidence.
    pub interval: (f64, f64),
    /// Samples of each side.
    pub samples: (usize, usize),
    /// Ranks on which the new side is slower than the old side's ranks, beyond the ratio that is a finding: in the median of the runs, and in
    /// the fastest of them. What else a machine does makes some runs slower, and not all of one side.
    pub slow_ranks: Vec<u32>,
}

/// Costs of functions that are called often enough on both sides.
#[must_use]
pub fn costs(sides: [&[Recorded]; 2], slower: f64) -> Vec<Cost> {
    let [old, new] = sides.map(samples);
    let mut costs = Vec::new();
    for (function, old) in &old {
        let Some(new) = new.get(function) else { continue };
        let by_rank = new;
        let (old, new): (Vec<f64>, Vec<f64>) = (all(old), all(by_rank));
        let (old_ns, new_ns) = (median(&mut old.clone()), median(&mut new.clone()));
        if old.len() < 4 || new.len() < 4 || old_ns <= 0.0 {
            continue;
        }
        let interval = interval(&old, &new);
        let (ratio, samples) = (new_ns / old_ns, (old.len(), new.len()));
        let slow_ranks = slow_ranks((old_ns, least(&old)), by_rank, slower);
        costs.push(Cost { function: function.clone(), old_ns, new_ns, ratio, interval, samples, slow_ranks });
    }
    costs
}

fn least(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Those of the new side whose median and fastest run are slower than these two of the old side.
fn slow_ranks((old_median, old_least): (f64, f64), new: &BTreeMap<u32, Vec<f64>>, slower: f64) -> Vec<u32> {
    let is_slow =
        |times: &[f64]| median(&mut times.to_vec()) > slower * old_median && least(times) > slower * old_least;
    new.iter().filter(|(_, times)| is_slow(times)).map(|(rank, _)| *rank).collect()
}

/// Those that are slower than `slower` times the old side's, beyond chance.
#[must_use]
pub fn findings(costs: &[Cost], slower: f64, names: [&'static str; 2]) -> Vec<Finding> {
    let is_slower = |cost: &&Cost| cost.interval.0 > slower && cost.new_ns - cost.old_ns > LEAST_NS;
    let finding = |cost: &Cost| -> Vec<Finding> {
        let message = format!(
            "{}: {:.2} µs a call on the {} side, {:.2} µs on the {}, {:.1} times as much (99 % confidence: {:.1} to {:.1}; more than {slower} is a finding)",
            cost.function,
            cost.old_ns / 1e3,
            names[0],
            cost.new_ns / 1e3,
            names[1],
            cost.ratio,
            cost.interval.0,
            cost.interval.1
        );
        let of = |rank: &u32| {
            let finding = Finding::new(Kind::Cost, message.clone());
            Finding { rank: Some(*rank), function: Some(cost.function.clone()), ..finding }
        };
        cost.slow_ranks.iter().map(of).collect()
    };
    costs.iter().filter(is_slower).flat_map(finding).collect()
}

/// Of all ranks.
fn all(ranks: &BTreeMap<u32, Vec<f64>>) -> Vec<f64> {
    ranks.values().flatten().copied().collect()
}

/// Nanoseconds a call in each run, by function and rank: the time in all layers, divided by the calls that come to the first of them.
fn samples(side: &[Recorded]) -> BTreeMap<String, BTreeMap<u32, Vec<f64>>> {
    let mut samples: BTreeMap<String, BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
    for job in side.iter().filter_map(|run| run.job.as_ref()) {
        let layers = calls::tools(job);
        let functions: BTreeSet<&String> = layers.iter().flat_map(|layer| layer.functions.keys()).collect();
        for function in functions {
            let of_layers = || layers.iter().filter_map(|layer| layer.functions.get(function));
            let Some(first) = of_layers().find(|known| known.calls_in > 0) else { continue };
            if first.calls_in < LEAST_CALLS {
                continue;
            }
            for (rank, (calls, _)) in first.by_rank.iter().filter(|(_, (calls, _))| *calls > 0) {
                let time: f64 = of_layers().filter_map(|known| known.own.by_rank.get(rank)).sum();
                samples.entry(function.clone()).or_default().entry(*rank).or_default().push(time / *calls as f64);
            }
        }
    }
    samples
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match (values.len() / 2, values.len() % 2) {
        (_, _) if values.is_empty() => 0.0,
        (middle, 1) => values[middle],
        (middle, _) => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// The bootstrap's interval of the ratio of medians: what it is when samples are drawn again from the samples.
fn interval(old: &[f64], new: &[f64]) -> (f64, f64) {
    // The same numbers give the same answer: xorshift from a fixed seed.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = |values: &[f64]| {
        let mut drawn: Vec<f64> = (0..values.len())
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                values[(state % values.len() as u64) as usize]
            })
            .collect();
        median(&mut drawn)
    };
    let mut ratios: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let old = draw(old).max(1.0);
            draw(new).max(1.0) / old
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    (ratios[DRAWS / 200], ratios[DRAWS - 1 - DRAWS / 200])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(old: &[f64], new: &[f64]) -> bool {
        let cost = Cost {
            function: "MPI_Send".to_owned(),
            old_ns: median(&mut old.to_vec()),
            new_ns: median(&mut new.to_vec()),
            ratio: 0.0,
            interval: interval(old, new),
            samples: (old.len(), new.len()),
            slow_ranks: vec![0],
        };
        !findings(&[cost], 1.5, ["old", "new"]).is_empty()
    }

    #[test]
    fn slower_beyond_chance() {
        let quiet: Vec<f64> = (0..12).map(|i| 1000.0 + f64::from(i)).collect();
        let slow: Vec<f64> = quiet.iter().map(|time| time * 3.0).collect();
        let noisy: Vec<f64> = (0..12).map(|i| if i % 2 == 0 { 900.0 } else { 9000.0 }).collect();
        let small: Vec<f64> = quiet.iter().map(|time| time / 10.0).collect();
        assert!(finds(&quiet, &slow));
        assert!(!finds(&slow, &quiet), "quicker is no finding");
        assert!(!finds(&quiet, &quiet) && !finds(&noisy, &noisy) && !finds(&quiet, &noisy));
        assert!(!finds(&small, &small.iter().map(|time| time * 3.0).collect::<Vec<_>>()), "a few instructions");
    }

    #[test]
    fn one_run_as_fast_as_before_is_no_slow_rank() {
        let ranks = |second: [f64; 3]| BTreeMap::from([(0, vec![1000.0, 1010.0, 1020.0]), (1, second.to_vec())]);
        let old = (1002.5, 990.0);
        assert_eq!(slow_ranks(old, &ranks([3000.0, 3100.0, 2900.0]), 1.5), [1]);
        assert_eq!(slow_ranks(old, &ranks([3000.0, 3100.0, 1100.0]), 1.5), [0; 0], "the machine was busy in two runs");
        assert_eq!(slow_ranks(old, &ranks([1000.0, 1100.0, 9000.0]), 1.5), [0; 0]);
    }

    #[test]
    fn medians() {
        assert_eq!((median(&mut [3.0, 1.0, 2.0]), median(&mut [4.0, 1.0, 2.0, 3.0]), median(&mut [])), (2.0, 2.5, 0.0));
    }
}

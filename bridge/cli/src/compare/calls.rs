//! The calls of all runs of two sides, on the edge from the program and on the edge to the MPI library.
//!
//! A native tool stands behind the runtime in these runs, which has an empty stack: what the program calls comes through it to the tool, and
//! what the tool calls comes through it to MPI. So both edges of a tool under `LD_PRELOAD` are seen as those of a layer are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::compare::cost::{self, Quartiles};
use crate::compare::edge::Edge;
use crate::compare::finding::{Finding, Kind, Varying};
use crate::compare::record::{self, Origins, Tools};
use crate::compare::run::Run;
use crate::compare::token::{Item, Pool};
use crate::measured::job::{Job, Layer};
use crate::measured::rank_file;
use crate::measured::trace::{self, Lines};

/// What one run recorded.
#[derive(Debug, Default)]
pub struct Recorded {
    /// By rank.
    pub ranks: BTreeMap<u32, Rank>,
    /// How many calls come to the layers.
    pub job: Option<Job>,
    /// Whether the program called MPI.
    pub has_calls: bool,
    /// Whether there are calls in Fortran that do not count.
    pub has_fortran: bool,
}

/// What one rank recorded of an edge, or of both.
#[derive(Debug, Default, Clone)]
pub struct Rank {
    /// How many calls of each function came through an edge.
    pub edges: BTreeMap<Kind, BTreeMap<String, u64>>,
    /// The calls of each thread, in the order of their first calls: functions, arguments and results, as `name=value`.
    pub threads: BTreeMap<Kind, Vec<Vec<Arc<Item>>>>,
    /// Requests that were never completed, by the function that made them; `None` where that is not known.
    pub leaked: Option<BTreeMap<String, u64>>,
    /// There were more calls than those.
    pub is_cut: bool,
    /// What calls of the program cost in the tools, by function.
    pub costs: BTreeMap<String, Quartiles>,
}

impl Recorded {
    /// Of a run; empty if it recorded nothing. `tools`: the tools of the side.
    #[must_use]
    pub fn of(run: &Run, tools: &Tools, pool: &mut Pool) -> Self {
        let mut recorded = Self::default();
        if let Ok(ranks) = rank_file::read(&run.measured) {
            recorded.ranks = ranks.files.iter().map(|file| (file.rank, Rank::default())).collect();
            recorded.count(Job::of(&ranks));
        }
        // One that is not understood has recorded nothing.
        let _ = trace::each(&run.measured, |recording| {
            let rank = recorded.ranks.entry(recording.rank()).or_default();
            // A process that was spawned has the rank of another one: the first is the job's.
            if rank.threads.is_empty() {
                let origins = Origins::of(recording, tools);
                rank.take(&origins.counts(recording));
                rank.threads = record::threads(recording, &origins, pool);
                rank.leaked = record::leaked(recording).filter(|_| !origins.has_fortran());
                rank.is_cut = recording.is_cut();
                rank.costs = cost::quartiles(recording, |call| origins.is_of_program(call));
                if rank.is_cut && origins.has_fortran() {
                    // How many of those that were not recorded are in Fortran is not known.
                    rank.edges = BTreeMap::from([Kind::CallsIn, Kind::CallsOut].map(|kind| (kind, BTreeMap::new())));
                }
                recorded.has_calls |= origins.has_calls(recording);
                recorded.has_fortran |= origins.has_fortran();
            }
            // One that was killed has left its calls only.
            if rank.edges.is_empty() {
                for (kind, threads) in &rank.threads {
                    let counts = rank.edges.entry(*kind).or_default();
                    threads.iter().flatten().for_each(|call| *counts.entry(call.key.to_string()).or_default() += 1);
                }
            }
        });
        recorded
    }

    fn count(&mut self, job: Job) {
        let (Some(program), Some(mpi)) = (job.layers.first(), job.layers.last()) else { return };
        for (layer, kind) in [(program, Kind::CallsIn), (mpi, Kind::CallsOut)] {
            for (name, function) in &layer.functions {
                for (rank, (calls_in, calls_out)) in &function.by_rank {
                    let calls = if kind == Kind::CallsIn { calls_out } else { calls_in };
                    let edges = &mut self.ranks.entry(*rank).or_default().edges;
                    if *calls > 0 {
                        edges.entry(kind).or_default().insert(name.clone(), *calls);
                    }
                }
            }
        }
        self.job = Some(job);
    }

    /// Functions that come to each layer, from the outermost.
    fn wrapped(&self) -> Vec<BTreeSet<&str>> {
        let layers = self.job.as_ref().map(tools).unwrap_or_default();
        let mut sets = Vec::new();
        for layer in layers {
            let functions = layer.functions.iter().filter(|(_, function)| function.calls_in > 0);
            sets.push(functions.map(|(name, _)| name.as_str()).collect());
        }
        sets
    }
}

impl Rank {
    /// So many calls of each function do not count on an edge.
    fn take(&mut self, calls: &BTreeMap<Kind, BTreeMap<String, u64>>) {
        for (kind, calls) in calls {
            let Some(edge) = self.edges.get_mut(kind) else { continue };
            for (function, calls) in calls {
                if let Some(count) = edge.get_mut(function) {
                    *count = count.saturating_sub(*calls);
                }
            }
            edge.retain(|_, count| *count > 0);
        }
    }
}

/// The layers between the program and the MPI library.
pub(super) fn tools(job: &Job) -> &[Layer] {
    job.layers.get(1..job.layers.len().saturating_sub(1)).unwrap_or_default()
}

/// Compares the calls that came through each edge on each rank.
#[must_use]
pub fn compare(sides: [&[Recorded]; 2], names: [&'static str; 2], varying: &mut Varying) -> Vec<Finding> {
    let ranks: BTreeSet<u32> =
        sides.iter().flat_map(|side| side.iter()).flat_map(|run| run.ranks.keys().copied()).collect();
    let (mut found, mut lines) = (Vec::new(), Lines::default());
    for rank in ranks {
        // A rank that left nothing in some run is compared in the others.
        let of_rank = sides.map(|side| side.iter().filter_map(|run| run.ranks.get(&rank)).collect::<Vec<_>>());
        if of_rank.iter().any(Vec::is_empty) {
            continue;
        }
        let edges = [Kind::CallsIn, Kind::CallsOut].map(|kind| Edge { kind, rank, names });
        let mut counts = edges.each_ref().map(|edge| edge.counts(&of_rank, varying));
        let is_another_number = counts.iter().any(|counts| !counts.is_empty());
        for (edge, counts) in edges.iter().zip(&mut counts) {
            let mut calls = edge.calls(&of_rank, counts, varying, &mut lines);
            // Requests are numbered, and MPICH has one handle for all that are completed at once: more or fewer of them change the numbers of
            // others.
            calls.retain(|(_, is_of_numbers)| !(is_another_number && *is_of_numbers));
            found.extend(std::mem::take(counts).into_values());
            found.extend(calls.into_iter().map(|(finding, _)| finding));
            if edge.kind == Kind::CallsOut {
                found.extend(edge.leaked(&of_rank));
            }
        }
    }
    found
}

/// Functions that the program calls on both sides, and that come to a layer on one of them only. `fortran`: those that may come to a tool of each
/// side in Fortran, which is not seen.
#[must_use]
pub fn wrappers(sides: [&[Recorded]; 2], names: [&'static str; 2], fortran: [&BTreeSet<String>; 2]) -> Vec<Finding> {
    let [Some(old), Some(new)] = sides.map(|side| side.iter().find(|run| run.job.is_some())) else { return Vec::new() };
    let (old_sets, new_sets) = (old.wrapped(), new.wrapped());
    if old_sets.len() != new_sets.len() {
        return Vec::new();
    }
    let labels = |run: &Recorded| -> Vec<String> {
        let layers = run.job.as_ref().map(tools).unwrap_or_default();
        layers.iter().map(|layer: &Layer| layer.label.trim_end_matches(" (program)").to_owned()).collect()
    };
    let (old_labels, new_labels) = (labels(old), labels(new));
    // What does not come through the edge above on both sides is another finding.
    let callers = |run: &Recorded, function: &str| -> BTreeSet<u32> {
        let calls = |rank: &Rank| rank.edges.get(&Kind::CallsIn).is_some_and(|edge| edge.contains_key(function));
        run.ranks.iter().filter(|(_, rank)| calls(rank)).map(|(rank, _)| *rank).collect()
    };
    let mut found = Vec::new();
    for (place, (left, right)) in old_sets.iter().zip(&new_sets).enumerate() {
        for function in left.symmetric_difference(right) {
            let is_old = left.contains(function);
            if fortran[usize::from(is_old)].contains(*function) {
                continue;
            }
            let (label, other) = if is_old {
                (&old_labels[place], &new_labels[place])
            } else {
                (&new_labels[place], &old_labels[place])
            };
            let (side, other_side) = if is_old { (names[0], names[1]) } else { (names[1], names[0]) };
            let message = format!(
                "{function} comes to {label} on the {side} side, and goes past {other} on the {other_side}: it has no wrapper of it"
            );
            for rank in callers(old, function).intersection(&callers(new, function)) {
                let finding = Finding::new(Kind::Wrapper, message.clone());
                found.push(Finding { rank: Some(*rank), function: Some((*function).to_owned()), ..finding });
            }
        }
    }
    found
}

//! What runs recorded of the calls on the edge from the program and on the edge to the MPI library.
//!
//! A native tool stands behind the runtime in these runs, which has an empty stack: what the program calls comes through it to the tool, and
//! what the tool calls comes through it to MPI. So both edges of a tool under `LD_PRELOAD` are seen as those of a layer are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use crate::compare::finding::Aspect;
use crate::compare::quartiles::{self, Quartiles};
use crate::compare::record::{self, Origins, ToolsOfSide};
use crate::compare::token::{Item, Pool};
use crate::job::MeasuredJob;
use crate::{rank_file, trace};

/// What one run recorded.
#[derive(Debug, Default)]
pub struct Recorded {
    /// By rank.
    pub ranks: BTreeMap<u32, RecordedRank>,
    /// How many calls come to the layers.
    pub job: Option<MeasuredJob>,
    /// Whether the program called MPI.
    pub has_calls: bool,
    /// Whether there are calls in Fortran that do not count.
    pub has_fortran: bool,
}

/// What one rank recorded of an edge, or of both.
#[derive(Debug, Default, Clone)]
pub struct RecordedRank {
    /// How many calls of each function came through an edge.
    pub edges: BTreeMap<Aspect, BTreeMap<String, u64>>,
    /// The calls of each thread, in the order of their first calls: functions, arguments and results, as `name=value`.
    pub threads: BTreeMap<Aspect, Vec<Vec<Arc<Item>>>>,
    /// Requests that were never completed, by the function that made them; `None` where that is not known.
    pub leaked: Option<BTreeMap<String, u64>>,
    /// There were more calls than those.
    pub is_cut: bool,
    /// What calls of the program cost in the tools, by function.
    pub costs: BTreeMap<String, Quartiles>,
}

impl Recorded {
    /// What is in the directory; empty if a run recorded nothing there. `tools`: the tools of the side.
    pub fn of(directory: &Path, tools: &ToolsOfSide, pool: &mut Pool) -> Self {
        let mut recorded = Self::default();
        if let Ok(ranks) = rank_file::read(directory) {
            recorded.ranks = ranks.files.iter().map(|file| (file.rank, RecordedRank::default())).collect();
            recorded.count(MeasuredJob::of(&ranks));
        }
        // One that is not understood has recorded nothing.
        let _ = trace::each(directory, |recording| {
            let rank = recorded.ranks.entry(recording.head().rank).or_default();
            // A process that was spawned has the rank of another one: the first is the job's.
            if rank.threads.is_empty() {
                let origins = Origins::of(recording, tools);
                rank.take(&origins.counts(recording));
                rank.threads = record::threads(recording, &origins, pool);
                rank.leaked = record::leaked(recording).filter(|_| !origins.has_fortran());
                rank.is_cut = recording.is_cut();
                rank.costs = quartiles::of(recording, |call| origins.is_of_program(call));
                if rank.is_cut && origins.has_fortran() {
                    // How many of those that were not recorded are in Fortran is not known.
                    rank.edges =
                        BTreeMap::from([Aspect::CallsIn, Aspect::CallsOut].map(|kind| (kind, BTreeMap::new())));
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

    fn count(&mut self, job: MeasuredJob) {
        let (Some(program), Some(mpi)) = (job.layers.first(), job.layers.last()) else { return };
        for (layer, kind) in [(program, Aspect::CallsIn), (mpi, Aspect::CallsOut)] {
            for (name, function) in &layer.functions {
                for (rank, (calls_in, calls_out)) in &function.by_rank {
                    let calls = if kind == Aspect::CallsIn { calls_out } else { calls_in };
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
    pub(super) fn wrapped(&self) -> Vec<BTreeSet<&str>> {
        let layers = self.job.as_ref().map(MeasuredJob::tools).unwrap_or_default();
        let mut sets = Vec::new();
        for layer in layers {
            let functions = layer.functions.iter().filter(|(_, function)| function.calls_in > 0);
            sets.push(functions.map(|(name, _)| name.as_str()).collect());
        }
        sets
    }
}

impl RecordedRank {
    /// So many calls of each function do not count on an edge.
    fn take(&mut self, calls: &BTreeMap<Aspect, BTreeMap<String, u64>>) {
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

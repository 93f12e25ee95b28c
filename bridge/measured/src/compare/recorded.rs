//! What runs recorded of the calls on the edge from the program and on the edge to the MPI library.
//!
//! A native tool stands behind the runtime in these runs, which has an empty stack: what the program calls comes through it to the tool, and
//! what the tool calls comes through it to MPI. So both edges of a tool under `LD_PRELOAD` are seen as those of a layer are.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::compare::finding::Aspect;
use crate::compare::quartiles::{self, Quartiles};
use crate::compare::record::{self, Origins, ToolsOfSide};
use crate::compare::token::{Item, Pool};
use crate::job::MeasuredJob;
use crate::rank_file;
use crate::trace::{self, Recording};

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

/// The edges of which calls are compared.
pub(super) const EDGES: [Aspect; 2] = [Aspect::CallsIn, Aspect::CallsOut];

/// What one rank recorded.
#[derive(Debug, Default, Clone)]
pub struct RecordedRank {
    /// In the order of [`EDGES`].
    pub edges: [EdgeCalls; 2],
    /// Requests that were never completed, by the function that made them; `None` where that is not known.
    pub leaked: Option<BTreeMap<String, u64>>,
    /// There were more calls than those.
    pub is_cut: bool,
    /// What calls of the program cost in the tools, by function.
    pub costs: BTreeMap<String, Quartiles>,
}

/// The calls that came through an edge.
#[derive(Debug, Default, Clone)]
pub struct EdgeCalls {
    /// How many there are of each function.
    pub counts: BTreeMap<String, u64>,
    /// Those of each thread, in the order of their first calls: functions, arguments and results, as `name=value`. `None` if the rank has left no
    /// calls.
    pub threads: Option<Vec<Vec<Arc<Item>>>>,
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
            let rank = recorded.ranks.entry(recording.file.head.rank).or_default();
            // A process that was spawned has the rank of another one: the first is the job's.
            if rank.edges[0].threads.is_none() {
                let origins = Origins::of(recording, tools);
                rank.take(recording, &origins, pool);
                recorded.has_calls |= origins.has_calls(recording);
                recorded.has_fortran |= origins.has_fortran();
            }
        });
        recorded
    }

    fn count(&mut self, job: MeasuredJob) {
        // What goes out of the program, what comes in at the MPI library.
        for (place, layer) in [job.layers.first(), job.layers.last()].into_iter().flatten().enumerate() {
            for (name, function) in &layer.functions {
                for (rank, (calls_in, calls_out)) in &function.by_rank {
                    let calls = [*calls_out, *calls_in][place];
                    let counts = &mut self.ranks.entry(*rank).or_default().edges[place].counts;
                    counts.extend((calls > 0).then(|| (name.clone(), calls)));
                }
            }
        }
        self.job = Some(job);
    }
}

impl RecordedRank {
    /// Takes the calls, and leaves those out of the numbers that do not count.
    fn take(&mut self, recording: &Recording<'_>, origins: &Origins, pool: &mut Pool) {
        // One that was killed has left its calls only.
        let is_counted = self.edges.iter().any(|edge| !edge.counts.is_empty());
        self.is_cut = recording.is_cut();
        let calls = record::threads(recording, origins, pool).into_iter().zip(origins.left_out(recording));
        for (edge, (threads, left_out)) in self.edges.iter_mut().zip(calls) {
            for (function, calls) in left_out {
                if let Some(count) = edge.counts.get_mut(function) {
                    *count = count.saturating_sub(calls);
                }
            }
            edge.counts.retain(|_, count| *count > 0);
            for call in threads.iter().flatten().filter(|_| !is_counted) {
                *edge.counts.entry(call.key.to_string()).or_default() += 1;
            }
            if self.is_cut && origins.has_fortran() {
                // How many of those that were not recorded are in Fortran is not known.
                edge.counts.clear();
            }
            edge.threads = Some(threads);
        }
        self.leaked = record::leaked(recording).filter(|_| !origins.has_fortran());
        self.costs = quartiles::of(recording, |call| origins.is_of_program(call));
    }
}

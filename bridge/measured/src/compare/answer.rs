//! The answer of a comparison: from the runs of both sides to what differs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::compare::calls;
use crate::compare::cost::{self, FunctionCost};
use crate::compare::finding::{Aspect, Finding, Varying, vary};
use crate::compare::mask::Masks;
use crate::compare::output::OutputComparison;
use crate::compare::recorded::Recorded;
use crate::compare::run::Run;

/// The answer.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// `same` or `different`.
    pub verdict: &'static str,
    /// The sides.
    pub sides: [AboutSide; 2],
    /// What differs.
    pub findings: Vec<Finding>,
    /// What varies by itself.
    pub varying: Varying,
    /// What calls cost.
    pub costs: Vec<FunctionCost>,
    /// From which ratio on a cost is a finding.
    pub slower: f64,
    /// What could not be compared.
    pub notes: Vec<String>,
    /// Where everything is that was written.
    pub directory: PathBuf,
}

/// A side as it is shown.
#[derive(Debug, Serialize)]
pub struct AboutSide {
    /// Its name.
    pub name: &'static str,
    /// What it is made of.
    pub what: String,
    /// How many runs there were whose output counts, and as many whose calls were recorded.
    pub runs: usize,
    /// Seconds of each run whose output counts.
    pub seconds: Vec<f64>,
}

/// What has to be known of a side.
#[derive(Debug, Clone)]
pub struct SideFacts {
    /// What it is called: two names of the same length.
    pub name: &'static str,
    /// What it is made of, for people.
    pub what: String,
    /// Functions for which a tool of it has wrappers in Fortran.
    pub fortran: BTreeSet<String>,
    /// A tool that starts threads, if there is one.
    pub with_threads: Option<String>,
}

/// The runs of one side.
#[derive(Debug, Default)]
pub struct SideRuns {
    /// Those whose output counts.
    pub plain: Vec<Run>,
    /// Those whose calls were recorded, and these calls.
    pub traced: Vec<Run>,
    /// The calls.
    pub recorded: Vec<Recorded>,
}

impl SideRuns {
    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Run> {
        self.plain.iter().chain(&self.traced)
    }
}

impl Comparison {
    /// Compares. `slower`: from which ratio on a cost is a finding. `directory`: where everything is that was written.
    pub fn of(sides: [&SideFacts; 2], runs: &[SideRuns; 2], masks: &Masks, slower: f64, directory: &Path) -> Self {
        let names = sides.map(|side| side.name);
        let mut varying = Varying::new();
        let mut notes = Vec::new();
        let plain = [&*runs[0].plain, &*runs[1].plain];
        let recorded = [&*runs[0].recorded, &*runs[1].recorded];
        let mut outputs = OutputComparison { names, masks, varying: &mut varying };
        let mut findings = outputs.status(runs.each_ref().map(|runs| runs.all().collect()));
        findings.extend(outputs.streams(plain));
        findings.extend(outputs.files(plain));
        findings.extend(calls::wrappers(recorded, names, sides.map(|side| &side.fortran)));
        findings.extend(calls::compare(recorded, names, &mut varying));
        let costs = cost::costs(recorded, slower);
        match sides.iter().find_map(|side| side.with_threads.as_ref()) {
            // By the clock, which is all that is measured, it has in it what a call waits for them.
            Some(tool) => {
                let why = format!("all of it, as {tool} starts threads");
                vary(&mut varying, Aspect::Cost.title(), &why);
            }
            None => findings.extend(cost::findings(&costs, slower, names)),
        }
        findings.sort_by_key(|finding| finding.kind);
        for (name, recorded) in names.iter().zip(recorded) {
            let (all, silent) = (recorded.len(), recorded.iter().filter(|run| run.ranks.is_empty()).count());
            if silent > 0 {
                notes.push(format!("{name}: no calls of MPI were recorded in {silent} of {all} runs"));
            }
        }
        if recorded.into_iter().flatten().any(|run| run.has_fortran) {
            notes.push(
                "the tool has wrappers in Fortran, which the program's calls in Fortran come to unseen: these calls are not compared one by one"
                    .to_owned(),
            );
        }
        let about = |place: usize| AboutSide {
            name: names[place],
            what: sides[place].what.clone(),
            runs: plain[place].len(),
            seconds: plain[place].iter().map(|run| run.time.as_secs_f64()).collect(),
        };
        Self {
            verdict: if findings.is_empty() { "same" } else { "different" },
            sides: [0, 1].map(about),
            findings,
            varying,
            costs,
            slower,
            notes,
            directory: directory.to_owned(),
        }
    }
}

//! One program with tools under plain `LD_PRELOAD`, and the same with libqmpi.so: the latter must never be worse.
//!
//! What plain `LD_PRELOAD` does is measured in the same test, so a program that fails there as well fails the test as one that
//! says nothing about libqmpi.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::{Job, Outcome, Verdict, product};

/// The job with libqmpi.so preloaded and no tool.
#[must_use]
pub fn without_stack(job: &Job) -> Job {
    job.clone().preload(&product::runtime())
}

/// The job with these tools in a stack, in both ways to ask for one, and what each is called in messages.
#[must_use]
pub fn stacked(job: &Job, tools: &[&str]) -> [(&'static str, Job); 2] {
    [("qmpi run", job.clone().stack(tools)), ("by hand", job.clone().by_hand(&tools.join(",")))]
}

/// Fails unless both ended with the same status and printed the same lines, and libqmpi said nothing.
///
/// # Errors
/// Both outputs.
pub fn same(mode: &str, reference: &Outcome, outcome: &Outcome) -> Result<(), String> {
    let equal = reference.status == outcome.status && reference.lines() == outcome.lines();
    if equal && outcome.said().is_empty() {
        return Ok(());
    }
    Err(format!("{mode}: not the same\n{}\nas without libqmpi\n{}", outcome.report(), reference.report()))
}

/// Fails unless the program prints `preloaded` with the tool preloaded, and `in_stack` in a stack, in both ways to ask for one.
///
/// # Errors
/// All runs in which it does not.
pub fn prints(job: &Job, tool: &Path, preloaded: &str, in_stack: &str) -> Verdict {
    let expect = |mode: &str, outcome: &Outcome, line: &str| {
        outcome.expect(0, &[line.to_owned()]).map_err(|reason| format!("{mode}: {reason}"))
    };
    let mut failures = Failures::default();
    failures.note(expect("LD_PRELOAD", &job.clone().preload(tool).run(), preloaded));
    for (mode, job) in stacked(job, &[&tool.display().to_string()]) {
        failures.note(expect(mode, &job.run(), in_stack));
    }
    failures.verdict()
}

/// Fails unless each of `runs` runs ended with `status` and printed `lines`.
///
/// # Errors
/// How many runs ended with which status, and all of the first that went wrong.
pub fn repeated(mode: &str, job: &Job, runs: usize, status: i32, lines: &[String]) -> Result<(), String> {
    let mut statuses: BTreeMap<i32, usize> = BTreeMap::new();
    let mut first = None;
    let mut wrong = 0;
    for _ in 0..runs {
        let outcome = job.run();
        *statuses.entry(outcome.status).or_default() += 1;
        if let Err(reason) = outcome.expect(status, lines) {
            wrong += 1;
            first.get_or_insert(reason);
            // What hangs is waited for once; 142 is SIGALRM, by which test programs end themselves.
            let hung = [crate::job::HUNG, 142].contains(&outcome.status);
            if wrong == 3 || hung {
                break;
            }
        }
    }
    match first {
        None => Ok(()),
        Some(reason) => Err(format!("{mode}: {wrong} runs went wrong; runs by exit status: {statuses:?}; {reason}")),
    }
}

/// The least processor time of three runs, all of which must be right.
///
/// # Errors
/// What was wrong in one.
pub fn time(mode: &str, job: &Job, lines: &[String]) -> Result<Duration, String> {
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let outcome = job.run();
        outcome.expect(0, lines).map_err(|reason| format!("{mode}: {reason}"))?;
        best = best.min(outcome.cpu);
    }
    Ok(best)
}

/// All that went wrong of several comparisons, so that a failure names each.
#[derive(Debug, Default)]
pub struct Failures(Vec<String>);

impl Failures {
    /// Keeps a failure.
    pub fn note(&mut self, result: Result<(), String>) {
        self.0.extend(result.err());
    }

    /// Keeps it if the job with these tools in a stack, in both ways to ask for one, is not the [`same`] as `reference`.
    pub fn same_in_stack(&mut self, job: &Job, tools: &[&str], reference: &Outcome) {
        for (mode, job) in stacked(job, tools) {
            self.note(same(mode, reference, &job.run()));
        }
    }

    /// Fails if there was one.
    ///
    /// # Errors
    /// All of them.
    pub fn verdict(self) -> Verdict {
        if self.0.is_empty() { Ok(()) } else { Err(self.0.join("\n\n").into()) }
    }
}

/// A number from the environment, for runs that are longer than those of `ci/test`.
///
/// # Panics
/// When the variable is no number: a run that is misspelt must not pass.
#[must_use]
pub fn number(variable: &str, default: usize) -> usize {
    let text = std::env::var(variable).unwrap_or_default();
    if text.is_empty() { default } else { text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")) }
}

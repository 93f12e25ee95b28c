//! A job with `--report`, and the calls of each function at each layer that the report has.

use std::process::Command;

use serde_json::Value;

use crate::{Job, Outcome, product};

/// What a job did, and what its report says.
#[derive(Debug)]
pub struct Measured {
    /// The job.
    pub outcome: Outcome,
    /// The answer of `qmpi report --json`.
    pub json: Value,
}

impl Measured {
    /// Runs the job with a report in a directory of its own.
    ///
    /// # Errors
    /// When there is no report.
    pub fn of(job: &Job) -> Result<Measured, String> {
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        let place = directory.path().display().to_string();
        let outcome = job.clone().env("QMPI_REPORT", place.clone()).env("QMPI_LOG", "error").run();
        let answer = Command::new(product::command()).args(["report", &place, "--json"]).output();
        let answer = answer.map_err(|error| error.to_string())?;
        let json = serde_json::from_slice(&answer.stdout)
            .map_err(|error| format!("{error}: {}{}", String::from_utf8_lossy(&answer.stderr), outcome.report()))?;
        Ok(Measured { outcome, json })
    }

    /// Calls that came to a layer on a rank. The layers are counted from the outermost, 1; the MPI library is the last one.
    #[must_use]
    pub fn calls(&self, layer: usize, function: &str, rank: u32) -> u64 {
        self.json["layers"][layer]["functions"][function]["by_rank"][rank.to_string()][0].as_u64().unwrap_or(0)
    }

    /// How many layers there are, the MPI library among them.
    #[must_use]
    pub fn layers(&self) -> usize {
        self.json["layers"].as_array().map_or(0, |layers| layers.len().saturating_sub(1))
    }
}

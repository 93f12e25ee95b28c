//! What one run of a side left.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::compare::mask::RunFacts;
use crate::ended::Ended;

/// What a run left.
#[derive(Debug, Clone)]
pub struct Run {
    /// How it ended.
    pub status: Ended,
    /// How long it took.
    pub time: Duration,
    /// Output, by name: `stdout.0` of rank 0; `stdout` of the launcher, or of a COMMAND in which ranks cannot be told apart.
    pub streams: BTreeMap<String, PathBuf>,
    /// The directory in which it ran, where it is now.
    pub files: PathBuf,
    /// Files there that are new or have changed, relative to the directory.
    pub written: Vec<PathBuf>,
    /// Files that are gone.
    pub removed: Vec<PathBuf>,
    /// What is known of its processes.
    pub known: RunFacts,
}

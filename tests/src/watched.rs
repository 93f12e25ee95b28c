//! Three layers that keep account of the requests that they see, for tests of layers that see some calls only.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use libtest_mimic::Failed;

use crate::{Mpi, Outcome, Verdict, compile};

/// How a layer is written: as a PMPI tool, or as a QMPI tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `MPI_f` and `PMPI_f`.
    Pmpi,
    /// Functions that it registers.
    Qmpi,
}
/// Outer, middle and inner, all of them the tool `watcher.c`; and a configuration file, which lives as long as this.
#[derive(Debug)]
pub struct WatchedStack {
    directory: tempfile::TempDir,
}

impl WatchedStack {
    /// `middle` is what the section of the middle layer says besides.
    ///
    /// # Errors
    /// When files cannot be written.
    pub fn new(mpi: Mpi, kinds: [Kind; 3], middle: &str) -> Result<WatchedStack, Failed> {
        let watcher = |kind| {
            let (variant, options) = if kind == Kind::Qmpi { ("qmpi", "-DAS_QMPI") } else { ("pmpi", "-DAS_PMPI") };
            compile::companion_variant(mpi, "watcher.c", variant, &[options])
        };
        let mut text = String::from("stack = [\"outer\", \"middle\", \"inner\"]\n");
        for (name, kind) in ["outer", "middle", "inner"].into_iter().zip(kinds) {
            let more = if name == "middle" { middle } else { "" };
            writeln!(text, "[tool.{name}]\npath = {:?}\n{more}", watcher(kind))?;
            if kind == Kind::Pmpi {
                writeln!(text, "env = {{ WATCH_LABEL = {name:?} }}")?;
            }
        }
        let directory = tempfile::tempdir()?;
        std::fs::write(directory.path().join("qmpi.toml"), text)?;
        Ok(WatchedStack { directory })
    }

    /// The configuration file.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.directory.path().join("qmpi.toml")
    }
}

/// What a line says in words such as `calls=3`.
pub type Counts = BTreeMap<String, i64>;

/// Its words that are counts.
#[must_use]
pub fn counts(line: &str) -> Counts {
    let word = |word: &str| word.split_once('=').and_then(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
    line.split_whitespace().filter_map(word).collect()
}

/// The counts of the line that begins so.
///
/// # Errors
/// When there is none.
pub fn line(outcome: &Outcome, begin: &str) -> Result<Counts, Failed> {
    let line = outcome.stdout.lines().find(|line| line.starts_with(begin));
    Ok(counts(line.ok_or_else(|| format!("no line `{begin}`\n{}", outcome.report()))?))
}

/// The counts of a layer on a rank.
///
/// # Errors
/// When there are none.
pub fn watch(outcome: &Outcome, layer: &str, rank: usize) -> Result<Counts, Failed> {
    line(outcome, &format!("watch {layer} rank {rank}:"))
}

/// The sum of some counts.
#[must_use]
pub fn of(counts: &Counts, names: &[&str]) -> i64 {
    names.iter().map(|name| counts.get(*name).copied().unwrap_or(0)).sum()
}

/// A layer has seen how all requests were completed that it saw started, and no others but together with these.
///
/// # Errors
/// When it has not.
pub fn is_consistent(outcome: &Outcome, layer: &str) -> Verdict {
    let counts = watch(outcome, layer, 0)?;
    let all_seen = of(&counts, &["started"]) == of(&counts, &["completed"]);
    if all_seen && of(&counts, &["unknown", "left", "duplicate"]) == 0 {
        return Ok(());
    }
    Err(format!("{layer} has not seen its requests completed, or others\n{}", outcome.report()).into())
}

/// Layers that are not switched see all calls.
///
/// # Errors
/// When they do not.
pub fn see_the_same(outcome: &Outcome) -> Verdict {
    for layer in ["outer", "middle", "inner"] {
        is_consistent(outcome, layer)?;
    }
    if watch(outcome, "outer", 0)? == watch(outcome, "inner", 0)? {
        return Ok(());
    }
    Err(format!("a call was lost\n{}", outcome.report()).into())
}

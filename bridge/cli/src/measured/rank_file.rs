//! The file that a rank writes when it ends (`core/src/report/recorder.rs`), and the directory of them.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::Error;

/// The version of the file that this command reads.
const SCHEMA: u32 = 1;

/// What one rank measured. Times are in ticks of its time-stamp counter.
#[derive(Debug, Clone, Deserialize)]
pub struct RankFile {
    /// Version of the file.
    pub schema: u32,
    /// The rank, as its launcher told it.
    pub rank: u32,
    /// How many ranks the job has, if the launcher told.
    pub size: Option<u32>,
    /// Time from start-up to the end of the process.
    pub elapsed_ns: u64,
    /// The same in ticks.
    pub ticks: u64,
    /// What a probe costs.
    pub probe_ticks: ProbeTicks,
    /// Threads that called MPI at a time.
    pub threads: u32,
    /// Threads that could not be measured.
    pub threads_without: u64,
    /// The program, the MPI library, the layers from the innermost outwards.
    pub layers: Vec<String>,
    /// Links that were not measured: the layer and the function.
    pub unmeasured: Vec<(usize, String)>,
    /// Links that were called.
    pub links: Vec<LinkRecord>,
}

/// What a probe adds.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct ProbeTicks {
    /// To the time of the call that it measures.
    pub inside: f64,
    /// To its caller's, which is taken off already.
    pub outside: f64,
}

/// A link into a layer.
#[derive(Debug, Clone, Deserialize)]
pub struct LinkRecord {
    /// The place of the layer in the list.
    pub layer: usize,
    /// The function.
    pub function: String,
    /// Calls, by the layer that called.
    pub callers: Vec<u64>,
    /// Time from call to return.
    pub inclusive: u64,
    /// Time without calls of layers below.
    pub own: i64,
    /// The longest call.
    pub longest: u64,
    /// How many calls took a time of so many bits and one more.
    pub histogram: Vec<(u32, u64)>,
}

/// The files of a directory, by rank.
///
/// # Errors
/// [`Error::Report`] if the directory has none, or one that is not understood.
pub fn read(directory: &Path) -> Result<Vec<RankFile>, Error> {
    let problem = |path: &Path, problem: String| Error::Report { path: path.to_owned(), problem };
    let entries = std::fs::read_dir(directory).map_err(|error| problem(directory, error.to_string()))?;
    let mut paths: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| is_one(path)).collect();
    paths.sort();
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        let text = std::fs::read_to_string(&path).map_err(|error| problem(&path, error.to_string()))?;
        let file: RankFile = serde_json::from_str(&text).map_err(|error| problem(&path, error.to_string()))?;
        file.check().map_err(|error| problem(&path, error))?;
        files.push(file);
    }
    if files.is_empty() {
        return Err(problem(directory, "no file of a rank is in it".to_owned()));
    }
    files.sort_by_key(|file| file.rank);
    Ok(files)
}

/// `trace-12.calls`, and `trace-12.4711.calls` of a process with that number.
#[must_use]
pub fn is_trace(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let numbers = name.and_then(|name| name.strip_prefix("trace-")?.strip_suffix(".calls"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|numbers| numbers.split('.').all(is_number) && numbers.split('.').count() <= 2)
}

/// Removes the files of an earlier job, which may have had more ranks.
///
/// # Errors
/// [`Error::Report`] if one cannot be removed, or the directory is something else.
pub fn clear(directory: &Path) -> Result<(), Error> {
    let problem =
        |path: &Path, error: &std::io::Error| Error::Report { path: path.to_owned(), problem: error.to_string() };
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|error| problem(directory, &error))?,
    };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| is_one(path) || is_trace(path)) {
        std::fs::remove_file(&path).map_err(|error| problem(&path, &error))?;
    }
    Ok(())
}

/// `rank-12.json`.
#[must_use]
pub fn is_one(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let number = name.and_then(|name| name.strip_prefix("rank-")?.strip_suffix(".json"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

impl RankFile {
    /// Nanoseconds in a tick.
    #[must_use]
    pub fn ns_per_tick(&self) -> f64 {
        if self.ticks == 0 { 0.0 } else { self.elapsed_ns as f64 / self.ticks as f64 }
    }

    fn check(&self) -> Result<(), String> {
        if self.schema != SCHEMA {
            return Err(format!("it has version {}, and this command reads version {SCHEMA}", self.schema));
        }
        let layers = self.layers.len();
        let is_whole = |link: &LinkRecord| link.layer < layers && link.callers.len() >= 2;
        if self.links.iter().all(is_whole) { Ok(()) } else { Err("a link has no layer".to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_job_is_cleared_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        for name in [
            "rank-0.json",
            "rank-12.json",
            "trace-3.calls",
            "trace-3.77.calls",
            "rank-.json",
            "rank-1.json.7",
            "notes.json",
        ] {
            std::fs::write(directory.path().join(name), "{}").unwrap();
        }
        assert!(read(directory.path()).is_err(), "no version");
        clear(directory.path()).unwrap();
        let mut left: Vec<_> =
            std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["notes.json", "rank-.json", "rank-1.json.7"]);
        assert!(read(directory.path()).unwrap_err().to_string().ends_with("no file of a rank is in it"));
        clear(&directory.path().join("nowhere")).unwrap();
    }
}

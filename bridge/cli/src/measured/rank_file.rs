//! What a rank leaves (`recorder/src/record.rs`), and the directory of the files with it, one for each host.

mod links;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;
use serde::Deserialize;

use crate::Error;
use crate::measured::counters;

/// The version of the records that this command reads.
const SCHEMA: u32 = 3;
/// What each member of gzip begins with (RFC 1952, 2.3.1).
const MEMBER: [u8; 3] = [0x1f, 0x8b, 8];

/// What one rank measured. Times are in ticks of its time-stamp counter.
#[derive(Debug, Clone, Deserialize)]
pub struct RankFile {
    /// Version of the file.
    pub schema: u32,
    /// The rank, as its launcher told it.
    pub rank: u32,
    /// How many ranks the job has, if the launcher told.
    pub size: Option<u32>,
    /// The name of its MPI_COMM_WORLD, if the launcher has one.
    pub world: Option<String>,
    /// Where it ran.
    pub host: String,
    /// The process.
    pub process: u32,
    /// When it started, since 1970.
    pub started_ms: u64,
    /// How far it came.
    pub came_to: CameTo,
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
    #[serde(deserialize_with = "links::read")]
    pub links: Vec<LinkRecord>,
    /// It wrote no record: this is what it had counted.
    #[serde(skip)]
    pub is_cut_off: bool,
}

/// Where a rank was before it wrote its record.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct CameTo {
    /// Its call of MPI_Finalize came to the MPI library.
    pub finalize: bool,
    /// The same of MPI_Abort.
    pub abort: bool,
    /// Its exit handlers ran.
    pub exit: bool,
}

/// What a probe adds.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct ProbeTicks {
    /// To the time of the call that it measures.
    pub inside: f64,
    /// To its caller's, which is taken off already.
    pub outside: f64,
    /// The same where bytes are counted.
    pub outside_with_bytes: f64,
}

/// A link into a layer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkRecord {
    /// The place of the layer in the list.
    pub layer: usize,
    /// The function.
    pub function: String,
    /// Calls of each layer that called.
    pub callers: Vec<(usize, u64)>,
    /// Bytes that these calls sent and received, in the same order.
    pub bytes: Vec<[u64; 2]>,
    /// Time from call to return.
    pub inclusive: u64,
    /// Time without calls of layers below.
    pub own: i64,
    /// The longest call.
    pub longest: u64,
    /// How many calls took a time of so many bits and one more.
    pub histogram: Vec<(u32, u64)>,
}

/// What is in a directory.
#[derive(Debug, Default)]
pub struct Ranks {
    /// The last record of each process.
    pub files: Vec<RankFile>,
    /// Records that were not written to their end, and that nothing can be read from.
    pub damaged: usize,
}

/// The records of a directory.
///
/// # Errors
/// [`Error::Report`] if the directory has none, or one that is not understood.
pub fn read(directory: &Path) -> Result<Ranks, Error> {
    let problem = |path: &Path, problem: String| Error::Report { path: path.to_owned(), problem };
    let entries = std::fs::read_dir(directory).map_err(|error| problem(directory, error.to_string()))?;
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| is_one(path) || counters::is_one(path))
        .collect();
    // Records come last: they take the place of what was counted before.
    paths.sort();
    let (mut last, mut damaged) = (BTreeMap::new(), 0);
    for path in paths {
        if counters::is_one(&path) {
            let bytes = std::fs::read(&path).map_err(|error| problem(&path, error.to_string()))?;
            let files = counters::read(&bytes).into_iter().filter(|file| file.check().is_ok());
            last.extend(files.map(|file| ((file.host.clone(), file.process, file.started_ms), file)));
            continue;
        }
        let bytes = std::fs::read(&path).map_err(|error| problem(&path, error.to_string()))?;
        damaged += records(&bytes, |text| {
            let file: RankFile = serde_json::from_str(text).map_err(|error| problem(&path, error.to_string()))?;
            file.check().map_err(|error| problem(&path, error))?;
            last.insert((file.host.clone(), file.process, file.started_ms), file);
            Ok(())
        })?;
    }
    if last.is_empty() {
        let what = if damaged > 0 { "no record of a rank in it can be read" } else { "no record of a rank is in it" };
        return Err(problem(directory, what.to_owned()));
    }
    let mut files: Vec<RankFile> = last.into_values().collect();
    // A shell or the launcher itself, into which a preloaded tool has brought an MPI library.
    let has_ranks = files.iter().any(|file| file.size.is_some());
    files.retain(|file| !has_ranks || file.size.is_some() || !file.links.is_empty());
    files.sort_by_key(|file| file.rank);
    Ok(Ranks { files, damaged })
}

/// Shows each record of a file; returns how many were damaged: a full disk, or a rank that was killed meanwhile.
fn records(bytes: &[u8], mut show: impl FnMut(&str) -> Result<(), Error>) -> Result<usize, Error> {
    let (mut rest, mut damaged, mut text) = (bytes, 0, String::new());
    while !rest.is_empty() {
        text.clear();
        let mut member = GzDecoder::new(rest);
        match member.read_to_string(&mut text) {
            Ok(_) => {
                rest = member.into_inner();
                text.lines().try_for_each(&mut show)?;
            }
            Err(_) => {
                damaged += 1;
                let next = rest.windows(MEMBER.len()).skip(1).position(|window| window == MEMBER);
                rest = next.map_or(&[], |place| &rest[place + 1..]);
            }
        }
    }
    Ok(damaged)
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
    for path in entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| is_one(path) || is_trace(path) || counters::is_one(path))
    {
        std::fs::remove_file(&path).map_err(|error| problem(&path, &error))?;
    }
    Ok(())
}

/// `ranks-HOST.jsonl.gz`.
#[must_use]
pub fn is_one(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.and_then(|name| name.strip_prefix("ranks-")?.strip_suffix(".jsonl.gz")).is_some_and(|host| !host.is_empty())
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
        let is_whole = |link: &LinkRecord| link.layer < layers;
        if self.links.iter().all(is_whole) { Ok(()) } else { Err("a link has no layer".to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn an_earlier_job_is_cleared_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        for name in [
            "ranks-a.jsonl.gz",
            "ranks-b.c.jsonl.gz",
            "ranks-.jsonl.gz",
            "ranks-a.jsonl",
            "notes.json",
            "trace-3.calls",
            "trace-3.77.calls",
            "counters-a",
        ] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        assert!(read(directory.path()).unwrap_err().to_string().ends_with("no record of a rank is in it"));
        clear(directory.path()).unwrap();
        let mut left: Vec<_> =
            std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["notes.json", "ranks-.jsonl.gz", "ranks-a.jsonl"]);
        clear(&directory.path().join("nowhere")).unwrap();
    }

    fn member(text: &str) -> Vec<u8> {
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        writer.write_all(text.as_bytes()).unwrap();
        writer.finish().unwrap()
    }

    #[test]
    fn a_damaged_record_is_one_less() {
        let texts = ["first, which is as long as it has to be", "second", "third"];
        let members = texts.map(member);
        let mut bytes = members[0][..members[0].len() - 9].to_vec();
        bytes.extend(members[1].iter().chain(&members[2]));
        let shown = |bytes: &[u8]| {
            let mut seen = Vec::new();
            let damaged = records(bytes, |text| {
                seen.push(text.to_owned());
                Ok(())
            });
            (seen.join(", "), damaged.unwrap())
        };
        assert_eq!(shown(&bytes), ("second, third".to_owned(), 1));
        let whole = members.concat();
        assert_eq!(shown(&whole), (texts.join(", "), 0));
        assert_eq!(shown(&whole[..whole.len() - 1]), (texts[..2].join(", "), 1));
        assert_eq!(shown(b"nonsense"), (String::new(), 1));
    }
}

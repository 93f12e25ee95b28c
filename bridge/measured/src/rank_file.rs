//! The directory of the files with what ranks left, one for each host.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;

use crate::MeasuredError;
use crate::counters;
use crate::rank_record::RankFile;

/// What each member of gzip begins with (RFC 1952, 2.3.1).
const MEMBER: [u8; 3] = [0x1f, 0x8b, 8];

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
/// [`MeasuredError::Report`] if the directory has none, or one that is not understood.
pub fn read(directory: &Path) -> Result<Ranks, MeasuredError> {
    let (mut last, mut damaged) = (BTreeMap::new(), 0);
    // Records come last: they take the place of what was counted before.
    for path in paths(directory, |path| is_record(path) || is_counters(path))? {
        let problem = |problem: String| MeasuredError::report(&path, problem);
        let bytes = std::fs::read(&path).map_err(|error| problem(error.to_string()))?;
        let mut add = |file: RankFile| last.insert((file.host.clone(), file.process, file.started_ms), file);
        if is_counters(&path) {
            counters::read(&bytes).into_iter().filter(|file| file.check().is_ok()).for_each(|file| drop(add(file)));
            continue;
        }
        damaged += records(&bytes, |text| {
            let file: RankFile = serde_json::from_str(text).map_err(|error| problem(error.to_string()))?;
            file.check().map_err(problem)?;
            add(file);
            Ok(())
        })?;
    }
    if last.is_empty() {
        let what = if damaged > 0 { "no record of a rank in it can be read" } else { "no record of a rank is in it" };
        return Err(MeasuredError::report(directory, what));
    }
    let mut files: Vec<RankFile> = last.into_values().collect();
    // A shell or the launcher itself, into which a preloaded tool has brought an MPI library.
    let has_ranks = files.iter().any(|file| file.size.is_some());
    files.retain(|file| !has_ranks || file.size.is_some() || !file.links.is_empty());
    files.sort_by_key(|file| file.rank);
    Ok(Ranks { files, damaged })
}

/// Shows each record of a file; returns how many were damaged: a full disk, or a rank that was killed meanwhile.
fn records(bytes: &[u8], mut show: impl FnMut(&str) -> Result<(), MeasuredError>) -> Result<usize, MeasuredError> {
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

/// Removes the files of an earlier job, which may have had more ranks.
///
/// # Errors
/// [`MeasuredError::Report`] if one cannot be removed, or the directory is something else.
pub fn clear(directory: &Path) -> Result<(), MeasuredError> {
    if directory.try_exists().is_ok_and(|exists| !exists) {
        return Ok(());
    }
    for path in paths(directory, |path| is_record(path) || is_counters(path) || trace_numbers(path).is_some())? {
        std::fs::remove_file(&path).map_err(|error| MeasuredError::report(&path, error))?;
    }
    Ok(())
}

/// The files of a directory that are of a kind, by name.
pub(crate) fn paths(directory: &Path, is_one: impl Fn(&Path) -> bool) -> Result<Vec<PathBuf>, MeasuredError> {
    let entries = std::fs::read_dir(directory).map_err(|error| MeasuredError::report(directory, error))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| is_one(path));
    paths.sort();
    Ok(paths)
}

/// What stands between these two in the name of a file.
fn between<'a>(path: &'a Path, prefix: &str, suffix: &str) -> Option<&'a str> {
    path.file_name()?.to_str()?.strip_prefix(prefix)?.strip_suffix(suffix).filter(|rest| !rest.is_empty())
}

/// `ranks-HOST.jsonl.gz`
fn is_record(path: &Path) -> bool {
    between(path, "ranks-", ".jsonl.gz").is_some()
}

/// `counters-HOST`
fn is_counters(path: &Path) -> bool {
    between(path, "counters-", "").is_some()
}

/// The numbers in the name of a trace: `trace-12.calls`, and `trace-12.4711.calls` of a process with that number.
pub(crate) fn trace_numbers(path: &Path) -> Option<Vec<u64>> {
    let numbers: Vec<u64> =
        between(path, "trace-", ".calls")?.split('.').map(|number| number.parse().ok()).collect::<Option<_>>()?;
    (numbers.len() <= 2).then_some(numbers)
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

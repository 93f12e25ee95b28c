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
    let problem = |path: &Path, problem: String| MeasuredError::Report { path: path.to_owned(), problem };
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

/// `trace-12.calls`, and `trace-12.4711.calls` of a process with that number.
pub fn is_trace(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let numbers = name.and_then(|name| name.strip_prefix("trace-")?.strip_suffix(".calls"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|numbers| numbers.split('.').all(is_number) && numbers.split('.').count() <= 2)
}

/// Removes the files of an earlier job, which may have had more ranks.
///
/// # Errors
/// [`MeasuredError::Report`] if one cannot be removed, or the directory is something else.
pub fn clear(directory: &Path) -> Result<(), MeasuredError> {
    let problem =
        |path: &Path, error: &std::io::Error| MeasuredError::Report { path: path.to_owned(), problem: error.to_string() };
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
pub fn is_one(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.and_then(|name| name.strip_prefix("ranks-")?.strip_suffix(".jsonl.gz")).is_some_and(|host| !host.is_empty())
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

//! The file to which the ranks of one host append what they measured: `DIR/ranks-HOST.jsonl.gz`, a member of gzip for each rank.
//!
//! One file for each host, and nothing that ranks have to agree on: no call of MPI is made, so nothing can wait for a rank that never
//! comes (docs/maintainers/decisions/report-files.md). A record is appended by one `write`, which is whole among those of one host's processes
//! (open(2), O_APPEND). What a rank appended before it came to its end it replaces at its end, in the same place: a field of gzip's
//! header that readers skip (RFC 1952, 2.3.1.1) fills the rest.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};
use qmpi_system::file_limit;

/// Room for what a rank counts between its first record and its last.
const SPARE: usize = 24;
/// What the header's field can have.
const MOST: usize = 60_000;

/// The file, and the place of this rank's record in it.
#[derive(Debug)]
pub(crate) struct HostFile {
    path: PathBuf,
    place: Option<(u64, usize)>,
}

impl HostFile {
    /// Of a host, in a directory that is made when it is needed.
    pub(crate) fn new(directory: &Path, host: &str) -> HostFile {
        let name: String =
            host.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' }).collect();
        HostFile { path: directory.join(format!("ranks-{name}.jsonl.gz")), place: None }
    }

    /// The file in which the host's ranks count, beside this one.
    pub(crate) fn counters(&self) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let host = name.strip_prefix("ranks-").and_then(|name| name.strip_suffix(".jsonl.gz")).unwrap_or(&name);
        self.path.with_file_name(format!("counters-{host}"))
    }

    /// Appends a record that may be replaced, or replaces it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn put(&mut self, record: &str, is_last: bool) -> io::Result<()> {
        let member_in_place = |(place, length)| Some((place, filled(record, length).transpose()?));
        if let Some((place, member)) = self.place.and_then(member_in_place) {
            // Linux appends whatever the place where the file was opened to append (pwrite(2)).
            return OpenOptions::new().write(true).open(&self.path)?.write_all_at(&member?, place);
        }
        let length = member(record, 0)?.len();
        let spare = if is_last { 0 } else { SPARE + length / 32 };
        let member = member(record, spare)?;
        let mut file = self.open()?;
        file_limit::check(file.metadata()?.len() + member.len() as u64)?;
        // One write: `write_all` goes on only where the disk is full.
        file.write_all(&member)?;
        let end = file.stream_position()?;
        self.place = Some((end - member.len() as u64, member.len()));
        Ok(())
    }

    fn open(&self) -> io::Result<File> {
        let open = || OpenOptions::new().append(true).create(true).open(&self.path);
        match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if let Some(directory) = self.path.parent() {
                    std::fs::create_dir_all(directory)?;
                }
                open()
            }
            opened => opened,
        }
    }
}

/// A member of exactly this length; `None` if the record is too long for it.
fn filled(record: &str, length: usize) -> io::Result<Option<Vec<u8>>> {
    let shortest = member(record, 0)?.len();
    match length.checked_sub(shortest) {
        Some(spare) if spare <= MOST => member(record, spare).map(Some),
        _ => Ok(None),
    }
}

/// A member of gzip with so many bytes that mean nothing.
fn member(record: &str, spare: usize) -> io::Result<Vec<u8>> {
    // A subfield of its own (RFC 1952, 2.3.1.1): two letters and its length.
    let spare = spare.min(MOST);
    let mut extra = b"QM".to_vec();
    extra.extend(u16::try_from(spare).unwrap_or(0).to_le_bytes());
    extra.resize(4 + spare, 0);
    let mut writer = GzBuilder::new().extra(extra).write(Vec::new(), Compression::best());
    writer.write_all(record.as_bytes())?;
    writer.write_all(b"\n")?;
    writer.finish()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::io::Read;

    use super::*;

    fn lines(path: &Path) -> Vec<String> {
        let mut text = String::new();
        flate2::read::MultiGzDecoder::new(File::open(path).unwrap()).read_to_string(&mut text).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_record_is_replaced_where_it_is() {
        let directory = std::env::temp_dir().join(format!("qmpi-host-file-{}", std::process::id()));
        let inner = directory.join("new");
        let (mut first, mut second) = (HostFile::new(&inner, "a/b"), HostFile::new(&inner, "a/b"));
        let path = inner.join("ranks-a_b.jsonl.gz");
        first.put("first, to be replaced", false).unwrap();
        second.put("second", true).unwrap();
        let length = std::fs::metadata(&path).unwrap().len();
        first.put("first, which ended", true).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), length);
        assert_eq!(lines(&path), ["first, which ended", "second"]);
        // What has no room is appended, and readers take the later one.
        let long: String = (0_u32..500).map(|number| char::from(b'!' + (number * number % 89) as u8)).collect();
        first.put(&long, true).unwrap();
        assert_eq!(lines(&path), ["first, which ended", "second", &long]);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

//! The file to which the ranks of one host append what they measured: `DIR/ranks-HOST.jsonl.gz`, a member of gzip for each rank.
//!
//! One file for each host, and nothing that ranks have to agree on: no call of MPI is made, so nothing can wait for a rank that never
//! comes (docs/maintainers/decisions/report-files.md). A record is appended by one `write`, which is whole among those of one host's processes
//! (open(2), O_APPEND). What a rank appended before it came to its end it replaces at its end, in the same place: a field of gzip's
//! header that readers skip (RFC 1952, 2.3.1.1) fills the rest.

use std::fs::OpenOptions;
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
    /// The file in which the host's ranks count, beside this one.
    pub(crate) counters: PathBuf,
    place: Option<(u64, usize)>,
}

impl HostFile {
    /// Of a host, in a directory that is made when it is needed.
    pub(crate) fn new(directory: &Path, host: &str) -> HostFile {
        let name = host.replace(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '.'), "_");
        let path = directory.join(format!("ranks-{name}.jsonl.gz"));
        HostFile { path, counters: directory.join(format!("counters-{name}")), place: None }
    }

    /// Appends a record that may be replaced, or replaces it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn put(&mut self, record: &str, is_last: bool) -> io::Result<()> {
        let shortest = member(record, 0)?.len();
        if let Some((place, length)) = self.place
            && let Some(spare) = length.checked_sub(shortest).filter(|spare| *spare <= MOST)
        {
            // Linux appends whatever the place where the file was opened to append (pwrite(2)).
            return OpenOptions::new().write(true).open(&self.path)?.write_all_at(&member(record, spare)?, place);
        }
        let member = member(record, if is_last { 0 } else { SPARE + shortest / 32 })?;
        std::fs::create_dir_all(self.path.parent().unwrap_or(Path::new(".")))?;
        let mut file = OpenOptions::new().append(true).create(true).open(&self.path)?;
        file_limit::check(file.metadata()?.len() + member.len() as u64)?;
        // One write: `write_all` goes on only where the disk is full.
        file.write_all(&member)?;
        self.place = Some((file.stream_position()? - member.len() as u64, member.len()));
        Ok(())
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
        flate2::read::MultiGzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
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

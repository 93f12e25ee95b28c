//! The directory of a run: what is in the current directory is in it, and what the run changes is seen.
//!
//! Files are copied, so that a run which overwrites its input changes nothing for the next one. Executables and libraries are links, as the
//! path of a program is looked at by programs, and so are large files.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

/// Files that are larger are linked.
const LARGE: u64 = 16 << 20;

/// A current directory with more in it is linked as a whole, entry by entry.
const MOST_FILES: usize = 2000;
const MOST_BYTES: u64 = 256 << 20;

/// What runs find in their directories.
#[derive(Debug)]
pub struct RunTemplate {
    source: PathBuf,
    entries: Vec<(PathBuf, EntryKind)>,
    /// The current directory has too much in it: it is linked entry by entry, and what runs change inside of its directories is not seen.
    pub is_large: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    Directory,
    Copy,
    Link,
}

/// The length, the time of the last change and the inode of a file, to tell whether it has changed.
type Stamp = (u64, (i64, i64), u64);

/// The files of a directory before its run.
#[derive(Debug, Default)]
pub struct FilesBefore(BTreeMap<PathBuf, Stamp>);

/// What a run did to its directory.
#[derive(Debug, Default, Clone)]
pub struct FileChanges {
    /// Files that are new or have changed, relative to the directory.
    pub written: Vec<PathBuf>,
    /// Files that are gone.
    pub removed: Vec<PathBuf>,
}

impl RunTemplate {
    /// What is in `source`, without `output`, where the runs' own directories are.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(source: &Path, output: &Path) -> io::Result<Self> {
        let mut template = Self { source: source.to_owned(), entries: Vec::new(), is_large: false };
        let mut bytes = 0;
        template.add(Path::new(""), output, &mut bytes)?;
        if template.is_large {
            template.entries.clear();
            for entry in std::fs::read_dir(source)? {
                let entry = entry?;
                if entry.path() != output {
                    template.entries.push((entry.file_name().into(), EntryKind::Link));
                }
            }
        }
        Ok(template)
    }

    fn add(&mut self, inside: &Path, output: &Path, bytes: &mut u64) -> io::Result<()> {
        for entry in std::fs::read_dir(self.source.join(inside))? {
            let entry = entry?;
            let (path, name) = (entry.path(), inside.join(entry.file_name()));
            if self.is_large || path == output {
                continue;
            }
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.entries.push((name.clone(), EntryKind::Directory));
                // One that must not be read is of no use to the runs, either.
                let _ = self.add(&name, output, bytes);
                continue;
            }
            let length = entry.metadata().map_or(0, |data| data.len());
            let is_copied = kind.is_file() && length <= LARGE && !is_elf(&path);
            self.entries.push((name, if is_copied { EntryKind::Copy } else { EntryKind::Link }));
            *bytes += if is_copied { length } else { 0 };
            self.is_large = self.entries.len() > MOST_FILES || *bytes > MOST_BYTES;
        }
        Ok(())
    }

    /// Makes the directory of a run.
    ///
    /// # Errors
    /// When something cannot be written.
    pub fn fill(&self, directory: &Path) -> io::Result<FilesBefore> {
        std::fs::create_dir_all(directory)?;
        let mut before = FilesBefore::default();
        for (name, what) in &self.entries {
            let (source, target) = (self.source.join(name), directory.join(name));
            match what {
                EntryKind::Directory => std::fs::create_dir_all(&target)?,
                EntryKind::Link => symlink(&source, &target)?,
                // A file that went away, or must not be read, is not there for the run.
                EntryKind::Copy => {
                    if std::fs::copy(&source, &target).is_ok() {
                        before.0.insert(name.clone(), stamp(&std::fs::metadata(&target)?));
                    }
                }
            }
        }
        Ok(before)
    }
}

fn stamp(data: &Metadata) -> Stamp {
    (data.len(), (data.mtime(), data.mtime_nsec()), data.ino())
}

impl FilesBefore {
    /// What has changed since. Links are not followed.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn changes(&self, directory: &Path) -> io::Result<FileChanges> {
        let mut changes = FileChanges::default();
        let mut seen = Vec::new();
        let mut left = vec![PathBuf::new()];
        while let Some(inside) = left.pop() {
            for entry in std::fs::read_dir(directory.join(&inside))? {
                let entry = entry?;
                let name = inside.join(entry.file_name());
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    left.push(name);
                } else if kind.is_file() {
                    if self.0.get(&name) != Some(&stamp(&entry.metadata()?)) {
                        changes.written.push(name.clone());
                    }
                    seen.push(name);
                }
            }
        }
        changes.written.sort();
        changes.removed = self.0.keys().filter(|name| !seen.contains(name)).cloned().collect();
        Ok(changes)
    }
}

fn is_elf(path: &Path) -> bool {
    let mut magic = [0; 4];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *b"\x7fELF"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_sees_everything_and_changes_nothing() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        std::fs::create_dir_all(at("input")).unwrap();
        std::fs::create_dir_all(at("out/old-1")).unwrap();
        for (name, text) in [("input/a.txt", "a"), ("b.txt", "b"), ("app", "\x7fELF"), ("gone", "")] {
            std::fs::write(at(name), text).unwrap();
        }
        let template = RunTemplate::of(place.path(), &at("out")).unwrap();
        let run = at("out/run");
        let before = template.fill(&run).unwrap();
        assert!(before.changes(&run).unwrap().written.is_empty());
        assert_eq!(std::fs::read_link(run.join("app")).unwrap(), at("app"));
        assert!(!run.join("out").exists());
        std::fs::write(run.join("input/a.txt"), "changed").unwrap();
        std::fs::create_dir(run.join("new")).unwrap();
        std::fs::write(run.join("new/c.txt"), "c").unwrap();
        std::fs::remove_file(run.join("gone")).unwrap();
        let changes = before.changes(&run).unwrap();
        assert_eq!(changes.written, [PathBuf::from("input/a.txt"), "new/c.txt".into()]);
        assert_eq!(changes.removed, [PathBuf::from("gone")]);
        assert_eq!(std::fs::read_to_string(at("input/a.txt")).unwrap(), "a");
    }

    #[test]
    fn a_large_directory_is_linked() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("many")).unwrap();
        for number in 0..=MOST_FILES {
            std::fs::write(place.path().join(format!("many/{number}")), "").unwrap();
        }
        let template = RunTemplate::of(place.path(), Path::new("/elsewhere")).unwrap();
        assert!(template.is_large);
        assert_eq!(template.entries, [(PathBuf::from("many"), EntryKind::Link)]);
    }
}

//! A file that a compiler makes, once for all tests: kept for as long as neither the command nor what it reads changes.
//!
//! Tests run in threads of one process (`cargo test`) or in a process each (cargo-nextest), and several want the same file. The
//! first builds it under a lock that holds between processes as between threads, and it appears at once and whole.

use std::ffi::OsStr;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use rustix::fs::{FlockOperation, flock};

use crate::product;

/// A file to be made, and the directory beside it with what belongs to its making.
pub(crate) struct Artifact {
    output: PathBuf,
    build_directory: PathBuf,
    name: String,
}

impl Artifact {
    /// This file of this directory, which is created.
    ///
    /// # Panics
    /// When it cannot be.
    pub(crate) fn new(directory: &Path, name: String) -> Artifact {
        let build_directory = directory.join(".build");
        std::fs::create_dir_all(&build_directory)
            .unwrap_or_else(|error| panic!("{}: {error}", build_directory.display()));
        Artifact { output: directory.join(&name), build_directory, name }
    }

    /// A directory for this file's compiler alone.
    ///
    /// # Panics
    /// When it cannot be created.
    pub(crate) fn scratch(&self) -> PathBuf {
        let scratch = self.beside("scratch");
        std::fs::create_dir_all(&scratch).unwrap_or_else(|error| panic!("{}: {error}", scratch.display()));
        scratch
    }

    /// Has the command make the file of `sources` and of the headers for tools, unless that has happened. The command is to be without
    /// `-o`.
    ///
    /// # Panics
    /// When it fails.
    pub(crate) fn build(self, mut command: Command, sources: &[PathBuf]) -> PathBuf {
        let (stamp, key) = (self.beside("stamp"), key(&command, sources));
        let _lock = self.lock();
        if self.output.exists() && std::fs::read_to_string(&stamp).is_ok_and(|stamp| stamp == key) {
            return self.output;
        }
        let temporary = self.beside("tmp");
        let result = command.arg("-o").arg(&temporary).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let messages = String::from_utf8_lossy(&result.stderr);
        assert!(result.status.success(), "{}: does not compile:\n{command:?}\n{messages}", self.name);
        // In this order: whatever comes between, a stamp never stands beside a file that was built from something else.
        let _ = std::fs::remove_file(&stamp);
        let placed = std::fs::rename(&temporary, &self.output).and_then(|()| std::fs::write(&stamp, key));
        placed.unwrap_or_else(|error| panic!("{}: {error}", self.output.display()));
        self.output
    }

    fn beside(&self, what: &str) -> PathBuf {
        self.build_directory.join(format!("{}.{what}", self.name))
    }

    /// Held until the file is closed. Each caller opens it anew, so that threads wait for each other too.
    fn lock(&self) -> File {
        let path = self.beside("lock");
        let file = File::create(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        rustix::io::retry_on_intr(|| flock(&file, FlockOperation::LockExclusive))
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        file
    }
}

/// Writes what something is built from, or loaded, unless the file has it already. Other tests that want the same may read it
/// meanwhile: it appears at once and whole.
///
/// # Panics
/// When it cannot be written.
pub fn write_source(path: &Path, text: &[u8]) {
    if std::fs::read(path).is_ok_and(|present| present == text) {
        return;
    }
    let directory = path.parent().unwrap_or(Path::new("."));
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(directory)?;
        let temporary = tempfile::NamedTempFile::new_in(directory)?;
        std::fs::write(temporary.path(), text)?;
        temporary.persist(path)?;
        Ok(())
    };
    write().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// The command, and what all files say that it reads of this repository.
fn key(command: &Command, sources: &[PathBuf]) -> String {
    let mut hasher = DefaultHasher::new();
    format!("{command:?}").hash(&mut hasher);
    for path in sources {
        hash_text(path, &mut hasher);
    }
    headers_key().hash(&mut hasher);
    format!("{:016x}\n", hasher.finish())
}

/// What the headers for tools say. They are large, and a test builds up to a dozen files.
fn headers_key() -> u64 {
    static KEY: OnceLock<u64> = OnceLock::new();
    *KEY.get_or_init(|| {
        let mut hasher = DefaultHasher::new();
        product::headers().iter().for_each(|path| hash_text(path, &mut hasher));
        hasher.finish()
    })
}

/// A file, and those that it includes from its own directory.
fn hash_text(path: &Path, hasher: &mut DefaultHasher) {
    let text = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.hash(hasher);
    for line in text.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"#include \"")) {
        let name = line.split(|byte| *byte == b'"').next().unwrap_or_default();
        let included = path.with_file_name(OsStr::from_bytes(name));
        if included.exists() {
            hash_text(&included, hasher);
        }
    }
}

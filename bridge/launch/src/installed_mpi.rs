//! MPI libraries and launchers on this machine, as far as the dynamic linker and PATH know them.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use qmpi_abi::MpiFamily;
use qmpi_elf::mpi::abi_family;
use qmpi_elf::{ElfFile, SearchPath};

/// An MPI library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledMpi {
    /// Its file.
    pub path: PathBuf,
    /// Its family, if that can be told.
    pub family: Option<MpiFamily>,
    /// What it calls itself.
    pub version: Option<String>,
}

impl fmt::Display for InstalledMpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = self.family.map(|family| family.name().to_owned());
        let name = self.version.clone().or(family).unwrap_or_else(|| "unknown MPI".to_owned());
        write!(f, "{name}: {}", self.path.display())
    }
}

/// The names that programs ask for, newest first. The cache cannot be asked for patterns.
const SONAMES: &str = "libmpi_abi.so.1 libmpi_abi.so.0 libmpi.so.80 libmpi.so.40 libmpi.so.20 libmpi.so.12 libmpich.so.12 \
    libmpi_cray.so.12 libmpi.so";

/// All that a program started from here would find.
pub fn find() -> Vec<InstalledMpi> {
    let search = SearchPath::from_process();
    let mut identities = Vec::new();
    let mut found = Vec::new();
    for path in SONAMES.split_whitespace().filter_map(|name| search.find_by_name(name)) {
        let Ok(file) = ElfFile::open(&path) else {
            continue;
        };
        if identities.contains(&file.identity()) {
            continue;
        }
        identities.push(file.identity());
        let family = abi_family::family_of_library(&file);
        let version = abi_family::library_version(&file).ok().flatten();
        found.push(InstalledMpi { path, family, version });
    }
    found
}

/// The version that a program prints for `--version`, one line. `None` if it says nothing within some seconds.
pub fn program_version(program: &Path) -> Option<String> {
    let mut child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // A launcher may try to contact a daemon that is not there.
    let deadline = Instant::now() + Duration::from_secs(5);
    while child.try_wait().ok()?.is_none() {
        if Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut text = String::new();
    child.stdout.take()?.take(1 << 16).read_to_string(&mut text).ok()?;
    version_line(&text)
}

/// Hydra prints a heading first, and the version on the next line.
fn version_line(text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next()?;
    if !first.starts_with("HYDRA") {
        return Some(first.to_owned());
    }
    let version = lines.find_map(|line| line.strip_prefix("Version:"))?;
    Some(format!("Hydra {}", version.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_launchers() {
        assert_eq!(version_line("mpiexec (OpenRTE) 4.1.4\n\nReport bugs").unwrap(), "mpiexec (OpenRTE) 4.1.4");
        let hydra = "HYDRA build details:\n    Version:                                 4.0.2\n    Release Date: x";
        assert_eq!(version_line(hydra).unwrap(), "Hydra 4.0.2");
        assert_eq!(version_line(""), None);
    }

    #[test]
    fn a_program_without_output() {
        assert_eq!(program_version(Path::new("/nonexistent/mpiexec")), None);
    }
}

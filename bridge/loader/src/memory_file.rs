//! Files in memory, for `ld.so` to load.
#![expect(unsafe_code, reason = "memfd_create has no safe wrapper in std")]

use std::ffi::{CStr, CString, c_int};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use qmpi_system::file_limit;
use tempfile::TempPath;

/// A file that lives as long as this value, or as something has it mapped.
#[derive(Debug)]
pub(crate) struct MemoryFile {
    path: CString,
    /// What the path leads to.
    _file: Kept,
}

/// What keeps a file.
#[derive(Debug)]
enum Kept {
    /// A descriptor of a file in memory.
    InMemory { _file: File },
    /// A name in the directory for temporary files, which is removed in the end.
    Named { _path: TempPath },
}

impl MemoryFile {
    /// Makes a file with these contents; `name` is what `/proc/self/maps` shows.
    pub(crate) fn new(name: &str, bytes: &[u8]) -> io::Result<MemoryFile> {
        file_limit::check(bytes.len() as u64)?;
        let label = CString::new(format!("qmpi:{name}"))?;
        if !Path::new("/proc/self/fd").exists() {
            return MemoryFile::in_directory(name, bytes);
        }
        // SAFETY: `label` is a C string.
        let fd = unsafe { libc::memfd_create(label.as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return MemoryFile::in_directory(name, bytes);
        }
        let mut file = out_of_the_way(fd);
        file.write_all(bytes)?;
        static OPENED: AtomicUsize = AtomicUsize::new(0);
        let path = CString::new(path(file.as_raw_fd(), OPENED.fetch_add(1, Ordering::Relaxed)))?;
        Ok(MemoryFile { path, _file: Kept::InMemory { _file: file } })
    }

    /// The same in the directory for temporary files: readable by its owner alone, under a name that cannot be foreseen.
    fn in_directory(name: &str, bytes: &[u8]) -> io::Result<MemoryFile> {
        let mut file = tempfile::Builder::new().prefix("qmpi-").suffix(&format!("-{name}")).tempfile()?;
        file.write_all(bytes)?;
        // `ld.so` opens it by its name; the descriptor would be the program's to stumble over.
        let path = file.into_temp_path();
        Ok(MemoryFile { path: CString::new(path.as_os_str().as_encoded_bytes())?, _file: Kept::Named { _path: path } })
    }

    /// The path under which `dlmopen` finds it.
    pub(crate) fn path(&self) -> &CStr {
        &self.path
    }

    /// The same for a DT_NEEDED entry.
    pub(crate) fn path_text(&self) -> &str {
        // Made from text in `new`, and from the directory for temporary files otherwise.
        self.path.to_str().unwrap_or_default()
    }
}

/// A path of a descriptor that is another one for each `number`.
///
/// ld.so takes an object for loaded when it knows its path, and a descriptor's number is used again. Slashes may be repeated and
/// `.` inserted at will: each bit of the number is `//` or `/.`.
fn path(descriptor: c_int, number: usize) -> String {
    let bits = usize::BITS - number.leading_zeros();
    let bits: String = (0..bits).map(|bit| if number >> bit & 1 == 0 { "//" } else { "/." }).collect();
    format!("/proc/self/fd{bits}/{descriptor}")
}

/// The file at a descriptor that programs do not count on: constructors of tools open files while this one is open.
fn out_of_the_way(fd: c_int) -> File {
    const HIGH: c_int = 512;
    // SAFETY: duplicates a descriptor that was made for this purpose.
    let high = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, HIGH) };
    // SAFETY: both descriptors were made here and have no other owner.
    let [file, other] = [fd, high].map(|fd| (fd >= 0).then(|| unsafe { File::from_raw_fd(fd) }));
    // With a limit below 512 it stays where it is. The one that is not returned is closed here.
    other.or(file).unwrap_or_else(|| unreachable!("the caller made one"))
}
#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_path_is_another_one_and_leads_to_the_file() {
        let file = File::open("/proc/self/exe").unwrap();
        let paths: HashSet<String> = (0..5000).map(|number| path(file.as_raw_fd(), number)).collect();
        assert_eq!(paths.len(), 5000);
        let target = std::fs::read_link("/proc/self/exe").unwrap();
        assert!(paths.iter().all(|path| std::fs::read_link(path).unwrap() == target));
    }
}

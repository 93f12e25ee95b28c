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

use crate::error::LoadError;

/// A file that lives as long as this value, or as something has it mapped.
#[derive(Debug)]
pub(crate) struct MemoryFile {
    path: CString,
    /// The descriptor of a file in memory.
    _descriptor: Option<File>,
    /// Where there is none, a name in the directory for temporary files, which is removed in the end.
    _name: Option<TempPath>,
}

impl MemoryFile {
    /// Makes a file with these contents; `name` is what `/proc/self/maps` shows.
    pub(crate) fn new(name: &str, bytes: &[u8]) -> Result<MemoryFile, LoadError> {
        let file = file_limit::check(bytes.len() as u64).and_then(|()| match memory(name)? {
            Some(file) => MemoryFile::in_memory(file, bytes),
            None => MemoryFile::in_directory(name, bytes),
        });
        file.map_err(|source| LoadError::Memory { name: name.into(), source })
    }

    fn in_memory(mut file: File, bytes: &[u8]) -> io::Result<MemoryFile> {
        static OPENED: AtomicUsize = AtomicUsize::new(0);
        file.write_all(bytes)?;
        let path = CString::new(path(file.as_raw_fd(), OPENED.fetch_add(1, Ordering::Relaxed)))?;
        Ok(MemoryFile { path, _descriptor: Some(file), _name: None })
    }

    /// A file that is readable by its owner alone, under a name that cannot be foreseen.
    fn in_directory(name: &str, bytes: &[u8]) -> io::Result<MemoryFile> {
        let mut file = tempfile::Builder::new().prefix("qmpi-").suffix(&format!("-{name}")).tempfile()?;
        file.write_all(bytes)?;
        // `ld.so` opens it by its name; the descriptor would be the program's to stumble over.
        let name = file.into_temp_path();
        let path = CString::new(name.as_os_str().as_encoded_bytes())?;
        Ok(MemoryFile { path, _descriptor: None, _name: Some(name) })
    }

    /// The path under which `dlmopen` finds it.
    pub(crate) fn path(&self) -> &CStr {
        &self.path
    }

    /// The same for a DT_NEEDED entry.
    pub(crate) fn path_text(&self) -> &str {
        // Made from text in `in_memory`, and from the directory for temporary files otherwise.
        self.path.to_str().unwrap_or_default()
    }
}

/// An empty file in memory; `None`: the system has none, or no names for them.
fn memory(name: &str) -> io::Result<Option<File>> {
    let label = CString::new(format!("qmpi:{name}"))?;
    if !Path::new("/proc/self/fd").exists() {
        return Ok(None);
    }
    // SAFETY: `label` is a C string.
    let descriptor = unsafe { libc::memfd_create(label.as_ptr(), libc::MFD_CLOEXEC) };
    // SAFETY: the descriptor was made here and has no other owner.
    Ok((descriptor >= 0).then(|| out_of_the_way(unsafe { File::from_raw_fd(descriptor) })))
}

/// The file at a descriptor that programs do not count on: constructors of tools open files while this one is open.
fn out_of_the_way(file: File) -> File {
    const HIGH: c_int = 512;
    // SAFETY: duplicates a descriptor that is open.
    let high = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, HIGH) };
    if high < 0 {
        return file; // The limit of descriptors is below 512.
    }
    // SAFETY: the descriptor was made here and has no other owner.
    unsafe { File::from_raw_fd(high) }
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

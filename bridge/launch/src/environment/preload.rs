//! `LD_PRELOAD`: where the runtime goes among what is preloaded already.
//!
//! After what the user preloads: a PMPI tool there comes first, and its `PMPI_*` starts the chain. But before an MPI
//! library, whose `MPI_*` would otherwise hide the runtime's.

use std::path::Path;

use qmpi_elf::mpi::abi_family::{is_mpi_library, is_name_of_tools_too};
use qmpi_elf::{ElfFile, is_mpi_soname};
use qmpi_plan::preload::{RUNTIME, entries, file_name};

use crate::LaunchError;

/// The value of `LD_PRELOAD` with `runtime` in it, once.
///
/// # Errors
/// [`LaunchError::Preload`] if the path of the runtime cannot stand in `LD_PRELOAD`, which has no escaping (ld.so(8)).
pub fn with_runtime(existing: Option<&str>, runtime: &Path) -> Result<String, LaunchError> {
    let text = runtime.to_str().filter(|text| !text.contains([' ', ':']));
    let runtime = text.ok_or_else(|| LaunchError::Preload(runtime.to_owned()))?;
    // One that is there already, perhaps of another installation, would be a second runtime.
    let stays = |entry: &str| file_name(entry) != RUNTIME && entry != runtime;
    Ok(with_libraries(existing.unwrap_or_default(), stays, [runtime]))
}

/// The value of `LD_PRELOAD` with these libraries, behind those of the entries that stay, but before an MPI library.
pub fn with_libraries<'a>(
    existing: &'a str,
    stays: impl Fn(&str) -> bool,
    libraries: impl IntoIterator<Item = &'a str>,
) -> String {
    let mut list: Vec<&str> = entries(existing).filter(|entry| stays(entry)).collect();
    let place = list.iter().position(|entry| is_mpi(entry)).unwrap_or(list.len());
    list.splice(place..place, libraries);
    list.join(":")
}

/// Whether an entry of `LD_PRELOAD` is an MPI library.
pub fn is_mpi(entry: &str) -> bool {
    let name = file_name(entry);
    let is_tool = || ElfFile::open(Path::new(entry)).is_ok_and(|file| !is_mpi_library(&file));
    is_mpi_soname(name) && !(is_name_of_tools_too(name) && is_tool())
}

/// The names of libraries among those that are preloaded which tools share with the process: what takes the place of glibc's malloc,
/// as the runtime has it.
pub fn shared(existing: Option<&str>) -> Vec<String> {
    let files = entries(existing.unwrap_or_default()).filter_map(|entry| ElfFile::open(Path::new(entry)).ok());
    let allocators = files.filter(|file| file.plain_exports().any(|symbol| symbol.name == "malloc"));
    allocators.map(|file| file.name().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preload(existing: Option<&str>) -> String {
        with_runtime(existing, Path::new("/q/libqmpi.so")).unwrap()
    }

    #[test]
    fn behind_the_users_and_before_mpi() {
        assert_eq!(preload(None), "/q/libqmpi.so");
        assert_eq!(preload(Some("")), "/q/libqmpi.so");
        assert_eq!(preload(Some("/a/libtool.so libjemalloc.so")), "/a/libtool.so:libjemalloc.so:/q/libqmpi.so");
        assert_eq!(preload(Some("libtool.so:/m/libmpi.so.40:c.so")), "libtool.so:/q/libqmpi.so:/m/libmpi.so.40:c.so");
    }

    #[test]
    fn never_twice() {
        assert_eq!(preload(Some("/q/libqmpi.so")), "/q/libqmpi.so");
        assert_eq!(preload(Some("/old/libqmpi.so:t.so")), "t.so:/q/libqmpi.so");
    }

    #[test]
    fn a_path_that_cannot_be_written() {
        assert!(with_runtime(None, Path::new("/a b/libqmpi.so")).is_err());
        assert!(with_runtime(None, Path::new("/a:b/libqmpi.so")).is_err());
    }
}

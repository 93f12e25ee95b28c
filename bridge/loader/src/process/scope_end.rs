//! Names at the very end of the process's scope: found by look-ups that find them nowhere else. And aside, in no scope but those of
//! libraries that need them.
//!
//! For names so general that libqmpi, which is preloaded, must not export them: it would take them from programs that use
//! them for something else.

use std::ffi::c_int;

use qmpi_elf::write::provider::{Life, Provided, Template};

use crate::error::LoadError;
use crate::link_map::{self, Handle};
use crate::memory_file::MemoryFile;

/// Adds these functions to the base namespace, under the SONAME `soname`.
///
/// # Errors
/// When the library that stands for them cannot be made or loaded.
pub fn add(soname: &str, functions: &[(&str, usize)]) -> Result<(), LoadError> {
    let symbols: Vec<Provided<'_>> =
        functions.iter().map(|(name, address)| Provided::function(*name, *address)).collect();
    define(soname, &symbols, libc::RTLD_GLOBAL, Life::Forever).map(|_| ())
}

/// The same for symbols of any kind: with RTLD_GLOBAL, or with RTLD_LOCAL for libraries that are opened later and need one of this SONAME, and
/// for nothing else.
pub(crate) fn define(soname: &str, symbols: &[Provided<'_>], scope: c_int, life: Life) -> Result<Handle, LoadError> {
    let provider = Template::new(soname, &[], &[], symbols, life)?;
    let file = MemoryFile::new(soname, provider.file())?;
    // The library has no code, so no constructors. RTLD_GLOBAL puts it behind all that is there.
    link_map::open(file.path(), libc::RTLD_NOW | scope).map_err(LoadError::link(soname))
}

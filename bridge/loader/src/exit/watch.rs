//! An object that `ld.so` finalizes before all others of a namespace: it needs the head, which needs the tool, and nothing needs it.
//!
//! The head itself would not do. A tool that needs the MPI library needs the head, under that name, as the head needs the tool; in such a
//! circle `ld.so` finalizes the tool first.

use qmpi_dynamic::LinkerLock;
use qmpi_elf::write::provider::write_with_destructor;
use qmpi_links::callback;
use qmpi_overrides::Namespace;

use crate::error::LoadError;
use crate::instance::Instance;
use crate::memory_file::MemoryFile;
use crate::{exit, namespace};

/// Puts one into the namespace of `instance`, whose head is this file.
pub(crate) fn load(
    namespace: &Namespace,
    instance: &'static Instance,
    head: &MemoryFile,
    lock: &LinkerLock,
) -> Result<(), LoadError> {
    const NAME: &str = "qmpi-end";
    let end = callback::with_data(exit::namespace_ends, instance)?;
    let file = write_with_destructor(NAME, &[head.path_text()], &[], end)?;
    let file = MemoryFile::new(NAME, &file)?;
    let handle = namespace::load(namespace, file.path()).map_err(LoadError::link(&instance.path))?;
    namespace::adopt(namespace, NAME, handle, lock);
    Ok(())
}

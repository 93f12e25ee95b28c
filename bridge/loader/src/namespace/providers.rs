//! Which provider a library gets that a tool needs and the process has once.

use std::sync::Arc;

use qmpi_dynamic::LinkerLock;
use qmpi_elf::Tool;
use qmpi_elf::write::provider;
use qmpi_overrides::Namespace;

use crate::error::LoadError;
use crate::image::Image;
use crate::memory_file::MemoryFile;
use crate::namespace::{self, shared};
use crate::process::Process;

/// The SONAME by which the tool asks for its MPI library.
pub(crate) fn mpi_soname<'a>(tool: &'a Tool, process: &'a Process) -> &'a str {
    let is_mpi = |soname: &&String| process.is_in_heads(soname);
    tool.closure.stopped.iter().find(is_mpi).map_or(process.mpi_name(), String::as_str)
}

/// The provider for one needed library, if it takes one.
pub(crate) fn file(process: &Process, soname: &str) -> Result<Option<Arc<MemoryFile>>, LoadError> {
    if qmpi_elf::linker::family::is_dynamic_linker(soname) {
        return Ok(None); // glibc itself stands the one real ld.so in
    }
    // Without a name it is the program's, which nothing more is asked of than that it is there.
    if !soname.is_empty() && !process.is_in_heads(soname) {
        return shared::provider(process, soname);
    }
    // The head has the symbols; this one answers to another name.
    let versions: Vec<&str> = process.shared(soname).into_iter().flat_map(Image::version_names).collect();
    let name = if soname.is_empty() { "program" } else { soname };
    Ok(Some(Arc::new(MemoryFile::new(name, &provider::write(soname, &[], &versions, &[])?)?)))
}

/// The library of threads, where that is one of its own (before glibc 2.34) and the process has it.
///
/// A namespace has it whether its tool names it or not: libstdc++ and libgcc refer to its functions by weak references alone, and
/// take those that are null for a process with one thread. Under `LD_PRELOAD` they find the library, whichever object brought it.
pub(crate) fn threads(process: &Process) -> Option<&'static str> {
    const SONAME: &str = "libpthread.so.0";
    let mut images = process.images().iter().filter(|image| image.name() == SONAME);
    images.any(|image| image.find(c"pthread_create").is_some()).then_some(SONAME)
}

/// Loads the provider for a library into a namespace that is there already, unless it has one.
pub(crate) fn provide(
    namespace: &Namespace,
    process: &Process,
    soname: &str,
    lock: &LinkerLock,
) -> Result<(), LoadError> {
    if namespace.has_provider(soname) {
        return Ok(());
    }
    let Some(file) = file(process, soname)? else { return Ok(()) };
    let handle = namespace::load(namespace, file.path()).map_err(LoadError::link(soname))?;
    namespace::adopt(namespace, soname, handle, lock);
    Ok(())
}

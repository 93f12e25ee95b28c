//! More instances than namespaces: copies of a tool that share one.
//!
//! glibc has 16 namespaces. A clone is a copy of the tool's file in memory that needs, before anything else, a head of its own
//! (`qmpi_elf::duplicate`). All clones live in one namespace whose first object defines nothing, so each finds its head's
//! symbols behind its own, and nobody else's:
//!
//! ```text
//! first object (empty)   libc, libm, ... (providers)   head 1   clone 1   head 2   clone 2   ...
//! ```
//!
//! What differs from a namespace of its own: the tool's private libraries exist once for all clones, so they must neither
//! call MPI nor call back ([`Tool::clone_obstacle`]); its path is that of a file in memory; a plugin that it opens does not
//! find its symbols.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use qmpi_elf::Tool;

use crate::Instance;
use crate::error::LoadError;
use crate::head::Head;
use crate::instance::{mpi_soname, provide};
use crate::memory_file::MemoryFile;
use crate::namespace::{self, Handle, Namespace};

/// The namespace of all clones, made for the first.
fn common(tool: &Path) -> Result<Arc<Namespace>, LoadError> {
    static COMMON: Mutex<Option<Arc<Namespace>>> = Mutex::new(None);
    const NAME: &str = "qmpi-clones";
    let mut common = COMMON.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(namespace) = common.as_ref() {
        return Ok(Arc::clone(namespace));
    }
    let first = qmpi_elf::provider::write(NAME, &[], &[], &[])?;
    let first = memory_file(NAME, &first)?;
    let handle = Namespace::create(tool, &first)?;
    let namespace = Namespace::new(handle, &[(NAME.into(), first.path().to_owned())])
        .ok_or_else(|| LoadError::Link { path: tool.into(), message: "the namespace of clones is not there".into() })?;
    Ok(Arc::clone(common.insert(Arc::new(namespace))))
}

/// Loads a clone of the tool.
pub(crate) fn bind(instance: &'static Instance, tool: &Tool) -> Result<Handle, LoadError> {
    let process = &*instance.process;
    let failed = |message: String| LoadError::Link { path: instance.path.clone(), message };
    let namespace = common(&instance.path)?;
    for soname in tool.closure.stopped.iter().filter(|soname| !qmpi_elf::is_mpi_soname(soname)) {
        provide(&namespace, process, soname)?;
    }
    let soname = mpi_soname(tool, process);
    let head = Head { process, tool, links: &instance.links, instance }.write(soname, &[])?;
    let head = memory_file(soname, &head)?;
    let head_path = head.path_text();

    let bytes = std::fs::read(&instance.path).map_err(|error| failed(error.to_string()))?;
    let needed = needed(tool, head_path);
    let needed: Vec<&str> = needed.iter().map(String::as_str).collect();
    let copy = qmpi_elf::duplicate::duplicate(&bytes, &needed).map_err(|error| failed(error.to_string()))?;
    let name = instance.path.file_name().unwrap_or_default().to_string_lossy();
    let copy = memory_file(&name, &copy)?;

    // Set before constructors of the tool run: they may call overrides.
    instance.providers.get_or_init(|| vec![(soname.to_owned(), head.path().to_owned())]);
    instance.namespace.get_or_init(|| Arc::clone(&namespace));
    namespace::leave_gap();
    let handle = namespace.load(copy.path()).map_err(failed)?;
    namespace.adopt(soname, head.path());
    Ok(*instance.handle.get_or_init(|| handle))
}

/// What a clone needs: its head, then what the tool needs, its private libraries by their paths.
fn needed(tool: &Tool, head: &str) -> Vec<String> {
    let private = |name: &str| {
        let found = tool.closure.objects.iter().skip(1).find(|object| object.name() == name)?;
        found.path().to_str().map(str::to_owned)
    };
    let names = tool.closure.root().needed().iter().filter(|name| !qmpi_elf::is_mpi_soname(name));
    [head.to_owned()].into_iter().chain(names.map(|name| private(name).unwrap_or_else(|| name.clone()))).collect()
}

fn memory_file(name: &str, bytes: &[u8]) -> Result<MemoryFile, LoadError> {
    MemoryFile::new(name, bytes).map_err(|source| LoadError::Memory { name: name.into(), source })
}

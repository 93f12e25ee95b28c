//! More instances than namespaces: copies of a tool that share one.
//!
//! glibc has 16 namespaces. A clone is a copy of the tool's file in memory that needs, before anything else, a head of its own
//! (`qmpi_elf::write::duplicate`). All clones live in one namespace whose first object defines nearly nothing, so each finds its
//! head's symbols behind its own, and no other head's:
//!
//! ```text
//! first object   libc, libm, ... (providers)   head 1   clone 1   head 2   clone 2   ...
//! ```
//!
//! What differs from a namespace of its own: the tool's private libraries exist once for all clones, so they must neither
//! call MPI nor call back ([`Tool::clone_obstacle`]); its path is that of a file in memory, but for its code
//! (`clone_code.rs`); a plugin that it opens does not find its symbols.

use std::ffi::CString;
use std::fs::File;
use std::io::Read;
use std::sync::OnceLock;

use qmpi_dynamic::LinkerLock;
use qmpi_elf::Tool;
use qmpi_elf::write::duplicate::{Changes, duplicate};
use qmpi_elf::write::provider::{Life, Provided, Template};
use qmpi_links::{callback, trampoline};
use qmpi_overrides::Namespace;

use crate::error::LoadError;
use crate::exit;
use crate::instance::Instance;
use crate::link_map::Handle;
use crate::load::clone_code;
use crate::load::head::{Head, Heads};
use crate::memory_file::MemoryFile;
use crate::namespace::{self, providers, thread_local};
use crate::process::Process;

/// The namespace of all clones.
static COMMON: OnceLock<&'static Namespace> = OnceLock::new();

/// Is there a namespace for clones already?
pub fn have_a_namespace() -> bool {
    COMMON.get().is_some()
}

/// The namespace of all clones, made for the first.
///
/// Its first object defines one function, the same for all: private libraries that unwind (libunwind) are loaded before any
/// head, and must see the frames of all namespaces. It needs the library of threads, which private libraries refer to and do not
/// name (see [`providers::threads`]). Both come first in the scope of all clones, but a clone finds what it defines itself before
/// (DT_SYMBOLIC, see `qmpi_elf::write::duplicate`).
fn common(first_clone: &'static Instance, lock: &LinkerLock) -> Result<&'static Namespace, LoadError> {
    const NAME: &str = "qmpi-clones";
    if let Some(namespace) = COMMON.get() {
        return Ok(namespace);
    }
    let (tool, process) = (first_clone.path.as_path(), &*first_clone.process);
    let lists_all = trampoline::allocate(qmpi_overrides::arch::dl_iterate_phdr, &first_clone.answers);
    let symbols = [Provided::function(c"dl_iterate_phdr", lists_all)];
    let threads = providers::threads(process).map(|name| Ok::<_, LoadError>((name, providers::file(process, name)?)));
    let threads = threads.transpose()?.and_then(|(name, file)| Some((name, file?)));
    let needs: Vec<&str> = threads.iter().map(|(_, file)| file.path_text()).collect();
    let end = callback::with_data(exit::clones_end, first_clone);
    let first = Template::new(NAME, &needs, &[], &symbols, Life::WithDestructor(end))?;
    let first = MemoryFile::new(NAME, first.file())?;
    let mut providers = vec![(NAME.to_owned(), first.path().to_owned())];
    providers.extend(threads.iter().map(|(name, file)| ((*name).to_owned(), file.path().to_owned())));
    let namespace = namespace::expect(first.path(), &providers, lock);
    namespace::create(namespace, tool, &first)?;
    Ok(COMMON.get_or_init(|| namespace))
}

/// Loads a clone of the tool.
pub(crate) fn bind<'a>(
    instance: &'static Instance,
    tool: &'a Tool,
    heads: &mut Heads<'a>,
    lock: &LinkerLock,
) -> Result<Vec<Handle>, LoadError> {
    let process = &*instance.process;
    // A clone is loaded into a namespace that is there already, behind which nothing is initialized first.
    if let Some(symbol) = thread_local::names(tool, process).first() {
        return Err(LoadError::ThreadLocal { path: instance.path.clone(), symbol: (*symbol).to_owned() });
    }
    let tool_path = instance.path.as_path();
    let namespace = common(instance, lock)?;
    // What it will find names in, apart from itself.
    let threads = providers::threads(process).and_then(|name| namespace.provider(name));
    let mut scope: Vec<_> = namespace.head().into_iter().chain(threads).collect();
    for soname in tool.closure.stopped.iter().filter(|soname| !process.is_in_heads(soname)) {
        providers::provide(namespace, process, soname, lock)?;
        scope.extend(namespace.provider(soname));
    }
    // Its private libraries, those first that others need: under their SONAMEs the copy finds them, and their versions.
    for library in tool.closure.objects.iter().skip(1).rev() {
        let path = CString::new(library.path().as_os_str().as_encoded_bytes());
        let path = path.map_err(LoadError::link(tool_path))?;
        let library = namespace::loaded(namespace, &path);
        let library =
            library.map_or_else(|| namespace::load(namespace, &path), Ok).map_err(LoadError::link(tool_path))?;
        scope.extend(library.map());
    }
    let soname = providers::mpi_soname(tool, process);
    let head = Head { tool, instance, before_constructors: None }.write(soname, &[], heads)?;
    let head = MemoryFile::new(soname, &head)?;

    let mut file = File::open(tool_path).map_err(LoadError::link(tool_path))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(LoadError::link(tool_path))?;
    let needed = needed(tool, process, head.path_text());
    let needed: Vec<&str> = needed.iter().map(String::as_str).collect();
    let runpath = runpath(tool);
    let copy = duplicate(&bytes, &Changes { needed: &needed, runpath: runpath.as_deref() });
    let copy = copy.map_err(LoadError::link(tool_path))?;
    let name = tool_path.file_name().unwrap_or_default().to_string_lossy();
    let copy = MemoryFile::new(&name, &copy)?;

    // Set before constructors of the tool run: they may call overrides.
    instance.providers.get_or_init(|| vec![(soname.to_owned(), head.path().to_owned())]);
    instance.answers.set_namespace(namespace);
    let handle = namespace::load(namespace, copy.path()).map_err(LoadError::link(tool_path))?;
    let head = namespace::loaded(namespace, head.path())
        .ok_or_else(|| LoadError::link(tool_path)("its head is not in the namespace of clones"))?;
    namespace::adopt(namespace, soname, head, lock);
    scope.extend(head.map());
    if let Some(map) = handle.map() {
        instance.is_clone(map);
        clone_code::take_from(lock, &file, &bytes, map);
        scope.push(map);
    }
    let scope = namespace::list(namespace, &scope, lock);
    instance.answers.scope.publish(scope.leak(), lock);
    instance.is_initialized();
    Ok(vec![*instance.handle.get_or_init(|| handle)])
}

/// What a clone needs: its head, then what the tool needs; libraries without a SONAME by their paths.
fn needed(tool: &Tool, process: &Process, head: &str) -> Vec<String> {
    let private = |name: &str| {
        let found = tool.closure.objects.iter().skip(1).find(|object| object.name() == name)?;
        if found.soname().is_some() { None } else { found.path().to_str().map(str::to_owned) }
    };
    let names = tool.closure.root().needed().iter().chain(&tool.closure.unnamed);
    let names = names.filter(|name| !process.is_in_heads(name));
    [head.to_owned()].into_iter().chain(names.map(|name| private(name).unwrap_or_else(|| name.clone()))).collect()
}

/// Where the tool looks for libraries that it opens, seen from its own directory: a file in memory has none.
fn runpath(tool: &Tool) -> Option<String> {
    let root = tool.closure.root();
    let directory = root.path().parent()?.to_str()?;
    let path = root.runpath().or(root.rpath())?;
    Some(path.replace("${ORIGIN}", directory).replace("$ORIGIN", directory))
}

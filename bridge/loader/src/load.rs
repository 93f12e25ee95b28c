//! Loads one PMPI tool: a layer of the stack, in a namespace of its own or as a clone.

pub(crate) mod clone;
mod clone_code;
pub(crate) mod head;

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use qmpi_abi::FnId;
use qmpi_dynamic::LinkerLock;
use qmpi_elf::write::provider::{Life, Template};
use qmpi_elf::{ElfFile, Tool};
use qmpi_links::own_calls::CallsOfLayer;
use qmpi_links::{callback, look_ups, pcontrol};
use qmpi_overrides::Namespace;
use qmpi_plan::{Inspector, Layer, Place, Planned};
use qmpi_system::log;

use crate::error::LoadError;
use crate::exit;
use crate::image::symbol::DefinedVersion;
use crate::instance::{Instance, leaked};
use crate::link_map::Handle;
use crate::load::head::{Head, Heads};
use crate::memory_file::MemoryFile;
use crate::namespace::thread_local::{self, Preparation};
use crate::namespace::{self, providers};
use crate::overrides::environment;
use crate::process::{Process, dlsym};
use crate::stand_ins;
use crate::wrappers::parts::Parts;
use crate::wrappers::wrapped::{self, LibraryWrapper, Others};

/// A loaded layer: what it intercepts, and what it cost.
#[derive(Debug)]
pub struct Loaded {
    /// The instance.
    pub instance: &'static Instance,
    /// The functions it intercepts, with the address to call.
    pub entries: Vec<(FnId, usize)>,
    /// Of functions of which it has several versions, all of them.
    pub versions: Vec<(FnId, DefinedVersion, usize)>,
    /// Its Fortran wrappers, by symbol name.
    pub fortran: Vec<(String, usize)>,
    /// What it has besides functions of MPI.
    pub others: Others,
    /// How long it took.
    pub duration: Duration,
}

/// What is below a tool.
pub struct Links<'a> {
    /// The next link of each C function by its number; 0: nothing there.
    pub c: &'a [usize],
    /// Those that `dlsym` finds where they are others: the next layer's default versions.
    pub by_name: &'a [(FnId, usize)],
    /// Functions that are not MPI's and that layers below wrap: the first wrapper of each.
    pub wrapped: &'a HashMap<&'static CStr, usize>,
    /// The next link of a Fortran function, by the symbol name under which the tool calls it (`pmpi_send_`); `None`: the
    /// MPI library's own.
    pub fortran: &'a dyn Fn(&str) -> Option<usize>,
    /// The MPI library's C function, past all layers: where the calls go of a layer that hides its own. 0: nothing there.
    pub mpi: &'a dyn Fn(FnId) -> usize,
    /// The same of Fortran.
    pub mpi_fortran: &'a dyn Fn(&str) -> Option<usize>,
}

/// Loads tools one after the other.
#[derive(Debug, Default)]
pub struct Loader<'a> {
    /// What instances of one tool have in common, which is made once.
    heads: Heads<'a>,
}

impl<'a> Loader<'a> {
    /// Loads `planned`, a PMPI tool, above `links`.
    ///
    /// # Errors
    /// Whatever is wrong with the tool; the process is as it was, except that a namespace may be used up.
    pub fn load(
        &mut self,
        process: &mut Arc<Process>,
        planned: &'a Planned,
        links: &Links<'_>,
        place: Place,
        lock: &LinkerLock,
    ) -> Result<Loaded, LoadError> {
        let start = Instant::now();
        let layer = &planned.layer;
        let Some(tool) = planned.pmpi() else { return Err(LoadError::NotPmpi { path: layer.path.clone() }) };
        prepare(process, planned)?;

        let own_calls = (layer.settings.own_calls == qmpi_plan::OwnCalls::Hidden).then(CallsOfLayer::next);
        let wraps = planned.wrapped();
        let instance = instance(layer, tool, &wraps, links, own_calls, process, lock);
        log::debug(|| {
            let (label, served) = (&instance.label, tool.closure.stopped.join(", "));
            let names = |objects: &[ElfFile]| objects.iter().map(ElfFile::name).collect::<Vec<_>>().join(", ");
            let (before, private) = (names(tool.closure.before()), names(tool.closure.private()));
            format!("{label}: {place:?}; before it: {before}; served by the process: {served}; private: {private}")
        });
        let parts = match place {
            Place::Namespace => bind(instance, tool, &mut self.heads, lock)?,
            Place::Clone => clone::bind(instance, tool, &mut self.heads, lock)?,
            Place::NoRoom => {
                let reason = tool.clone_obstacle().unwrap_or_else(|| "none is left for clones".into());
                return Err(LoadError::Namespaces { path: layer.path.clone(), reason });
            }
        };

        stand_ins::tools::loaded(tool, &parts, lock);
        let wrappers = Parts::of(tool, &parts);
        let enter = |id, wrapper| own_calls.map_or(wrapper, |own_calls| own_calls.entry(id, wrapper));
        let (entries, versions) = c_entries(planned, tool, links, &enter, &wrappers);
        let fortran = fortran_entries(planned, tool, links, &enter, &wrappers);
        let others = Others {
            wrapped: wraps.iter().filter_map(|name| wrapped_function(name, own_calls, &wrappers)).collect(),
            profiling: if tool.own_profiling.is_empty() { Vec::new() } else { wrappers.profiling() },
            files: wrappers.images().cloned().collect(),
        };
        Ok(Loaded { instance, entries, versions, fortran, others, duration: start.elapsed() })
    }
}

/// The instance of a tool that is about to be loaded, that wraps these functions besides MPI's, and calls `links`, or where its own calls are
/// hidden stubs that tell these.
fn instance(
    layer: &Layer,
    tool: &Tool,
    wraps: &[&str],
    links: &Links<'_>,
    own_calls: Option<CallsOfLayer>,
    process: &Arc<Process>,
    lock: &LinkerLock,
) -> &'static Instance {
    let link = |id: FnId, next: usize| own_calls.map_or(next, |own_calls| own_calls.link(id, next, (links.mpi)(id)));
    let c: Vec<usize> = FnId::all().map(|id| link(id, links.c[id.index()])).collect();
    let by_name: Vec<_> = links.by_name.iter().map(|(id, next)| (*id, link(*id, *next))).collect();
    let mut instance = Instance::new(layer.label.clone(), layer.path.clone(), &c, &by_name, process);
    if c != links.c {
        instance.next_links = Box::leak(Box::from(links.c));
    }
    instance.answers.before = tool.closure.before().len();
    instance.has_own_allocator = tool.has_own_allocator() && !wraps.contains(&"free");
    instance.answers.settings = environment::settings(&layer.settings.env);
    instance.answers.inherited = environment::copy();
    for name in &tool.fortran_imports {
        let Some(next) = (links.fortran)(name) else { continue };
        let hidden = || Some(own_calls?.link(qmpi_abi::classify(name)?.id, next, (links.mpi_fortran)(name)?));
        instance.fortran_links.insert(name.clone(), hidden().unwrap_or(next));
    }
    for (name, next) in links.wrapped {
        let hidden = || Some(own_calls?.other_link(name.to_str().ok()?, *next, dlsym::global(name)?));
        instance.wrapped_below.insert(name, hidden().unwrap_or(*next));
    }
    let instance: &'static mut Instance = Box::leak(Box::new(instance));
    let look_ups = look_ups::next(wraps, &instance.wrapped_below, &raw const instance.answers);
    let hidden = wraps.iter().filter(|name| tool.closure.private().iter().any(|file| file.finds(name)));
    let of_process = hidden.filter_map(|name| leaked(*name).and_then(|name| Some((name, dlsym::global(name)?))));
    instance.answers.next = wrapped::next_functions(&instance.wrapped_below, wraps, &look_ups, of_process);
    let instance: &'static Instance = instance;
    environment::give_view(&instance.answers);
    instance.list(lock);
    instance
}

/// Makes the function by which a wrapper is entered.
type Enter<'a> = &'a dyn Fn(FnId, usize) -> usize;

type Entries = Vec<(FnId, usize)>;
type VersionedEntries = Vec<(FnId, DefinedVersion, usize)>;

/// The C wrappers that become links, and the versions of those that have some.
fn c_entries(
    planned: &Planned,
    tool: &Tool,
    links: &Links<'_>,
    enter: Enter<'_>,
    wrappers: &Parts<'_>,
) -> (Entries, VersionedEntries) {
    let (mut entries, mut versions) = (Vec::new(), Vec::new());
    for id in planned.wrappers() {
        let Some((address, others)) = wrappers.find(id) else { continue };
        let below = links.c[id.index()];
        let delivers = id.name() == "MPI_Pcontrol" && !tool.passes_pcontrol_on && below != 0;
        let link = |address| {
            let entered = enter(id, address);
            if delivers { pcontrol::deliver_to_both(entered, below) } else { entered }
        };
        let entry = link(address);
        entries.push((id, entry));
        let other = |other| if other == address { entry } else { link(other) };
        versions.extend(others.into_iter().map(|(version, address)| (id, version, other(address))));
    }
    (entries, versions)
}

/// The Fortran wrappers that do.
fn fortran_entries(
    planned: &Planned,
    tool: &Tool,
    links: &Links<'_>,
    enter: Enter<'_>,
    wrappers: &Parts<'_>,
) -> Vec<(String, usize)> {
    let passes_on = tool.passes_pcontrol_on || tool.fortran_imports.iter().any(|name| is_pcontrol(name));
    let entry = |(name, id): (&str, FnId)| {
        let address = enter(id, wrappers.find_fortran(name)?);
        let prefix = if name.starts_with('M') { 'P' } else { 'p' };
        let below = || (links.fortran)(&format!("{prefix}{name}"));
        let below = if is_pcontrol(name) && !passes_on { below() } else { None };
        Some((name.to_owned(), below.map_or(address, |below| pcontrol::deliver_to_both(address, below))))
    };
    planned.fortran_wrappers().filter_map(entry).collect()
}

/// Its wrapper of a function that is not MPI's.
fn wrapped_function(name: &str, own_calls: Option<CallsOfLayer>, wrappers: &Parts<'_>) -> Option<LibraryWrapper> {
    let (address, versions) = wrappers.find_other(name)?;
    let enter = |address| own_calls.map_or(address, |own_calls| own_calls.other_entry(name, address));
    let entered = enter(address);
    let entry = |other| if other == address { entered } else { enter(other) };
    let versions = versions.into_iter().map(|(version, other)| (version, entry(other))).collect();
    Some(LibraryWrapper { name: leaked(name)?, address: entered, versions })
}

/// Plans a layer in this process, with the libraries of its `share` loaded. A tool that is built for another MPI is refused before it is
/// opened: it would bring that into the program.
///
/// # Errors
/// What `dlerror` says of a library; why the tool cannot be a layer.
pub fn plan(process: &mut Arc<Process>, layer: &Layer, inspector: &mut Inspector<'_>) -> Result<Planned, LoadError> {
    for soname in &layer.settings.share {
        share(process, &layer.path, soname, soname)?;
    }
    let mut planned = inspector.plan(layer.clone(), &|soname| process.is_shared(soname))?;
    let wrapped: Vec<_> =
        process.wrapped_by(&planned).map(|file| (file.name().to_owned(), file.path().to_owned())).collect();
    for (soname, file) in &wrapped {
        share(process, &layer.path, soname, text(file)?)?;
    }
    let mut in_common = planned.pmpi().map(|tool| process.in_common_with(tool)).unwrap_or_default();
    if !in_common.is_empty() {
        Arc::make_mut(process).have_in_common(&in_common);
    }
    in_common.extend(wrapped.into_iter().map(|(soname, _)| soname));
    if !in_common.is_empty() {
        let (label, names) = (&layer.label, in_common.join(", "));
        log::debug(|| format!("{label}: one copy for it and for the program: {names}"));
        let mut layer = layer.clone();
        layer.settings.share.extend(in_common);
        planned = inspector.plan(layer, &|soname| process.is_shared(soname))?;
    }
    if let Some(family) = process.family() {
        planned.check_mpi("this process", family, &process.mpi_description())?;
    }
    Ok(planned)
}

/// Loads libraries of MPI that a PMPI tool needs and the application does without, Fortran's or C++'s: `LD_PRELOAD` would bring them in
/// as well.
///
/// # Errors
/// What `dlerror` says of one.
pub fn prepare(process: &mut Arc<Process>, planned: &Planned) -> Result<(), LoadError> {
    let stopped = planned.pmpi().map(|tool| tool.closure.stopped.as_slice()).unwrap_or_default();
    for soname in stopped.iter().filter(|soname| qmpi_elf::is_mpi_soname(soname)) {
        if !qmpi_elf::is_mpi_c_library_file_name(soname) {
            share(process, &planned.layer.path, soname, soname)?;
        }
    }
    Ok(())
}

/// Is it the Fortran name of `MPI_Pcontrol`, in some spelling?
fn is_pcontrol(name: &str) -> bool {
    qmpi_abi::classify(name).is_some_and(|symbol| symbol.id.name() == "MPI_Pcontrol")
}

fn share(process: &mut Arc<Process>, path: &Path, soname: &str, file: &str) -> Result<(), LoadError> {
    Arc::make_mut(process).share(soname, file).map_err(LoadError::link(path))
}

/// Makes the namespace: head, libraries that stand before the tool, tool, providers, in this order, and loaded in one go. Returns the tool's files,
/// in the order of their symbols.
///
/// All are in the namespace's global scope, as a preloaded tool is in the program's: a plugin that the tool opens finds the
/// tool's symbols. The tool stands before the providers, so that a function of glibc that it defines itself is its own.
fn bind<'a>(
    instance: &'static Instance,
    tool: &'a Tool,
    heads: &mut Heads<'a>,
    lock: &LinkerLock,
) -> Result<Vec<Handle>, LoadError> {
    let process = &*instance.process;
    let needed = &tool.closure.stopped;
    let soname = providers::mpi_soname(tool, process);
    let threads = providers::threads(process).filter(|threads| !needed.iter().any(|name| name == threads));
    let mut files = Vec::new();
    for name in needed.iter().map(String::as_str).chain(threads).filter(|name| *name != soname) {
        files.extend(providers::file(process, name)?.map(|file| (name.to_owned(), file)));
    }
    let paths = tool.closure.parts().map(|part| text(part.path())).collect::<Result<Vec<&str>, LoadError>>()?;
    let unnamed = &tool.closure.unnamed;
    let private = tool.closure.private().iter().filter(|object| unnamed.iter().any(|name| name == object.name()));
    let mut needs: Vec<&str> =
        paths.iter().copied().chain(private.filter_map(|object| object.path().to_str())).collect();
    needs.extend(files.iter().map(|(_, file)| file.path_text()));
    let first = Preparation::of(tool, instance)?;
    needs.extend(first.iter().map(|first| first.provider.path_text()));
    // Loaded above already; this gives them the names by which versions are looked for.
    needs.extend(unnamed.iter().map(String::as_str));
    let before_constructors = first.as_ref().map(|first| first.function);
    let head = Head { tool, instance, before_constructors }.write(soname, &needs, heads)?;
    let head_file = MemoryFile::new(soname, &head)?;
    first.iter().for_each(|first| first.expect(head_file.path()));
    let first = first.iter().map(|first| (thread_local::SONAME.to_owned(), first.provider.path().to_owned()));
    let providers = files.iter().map(|(name, file)| (name.clone(), file.path().to_owned())).chain(first);
    // Set before constructors of the tool run: they may call overrides.
    let providers = instance
        .providers
        .get_or_init(|| providers.chain([(soname.to_owned(), head_file.path().to_owned())]).collect());
    let namespace = namespace::expect(head_file.path(), providers, lock);
    instance.answers.set_namespace(namespace);
    namespace::create(namespace, &instance.path, &head_file).map_err(|error| match (error, tool.clone_obstacle()) {
        (LoadError::Namespaces { path, .. }, Some(reason)) => LoadError::Namespaces { path, reason },
        (error, _) => error,
    })?;
    watch(namespace, instance, &head_file, lock)?;
    let loaded = |path: &&str| {
        let handle = CString::new(*path).ok().and_then(|path| namespace::loaded(namespace, &path));
        handle.ok_or_else(|| LoadError::link(path)("it is not in its namespace"))
    };
    let parts = paths.iter().map(loaded).collect::<Result<Vec<Handle>, _>>()?;
    let maps: Vec<_> = namespace.first_maps().collect();
    // Its libraries stay for ever, as it does.
    let own = || maps.iter().copied().filter(|map| !map.is_linker() && !namespace.is_provider(map));
    for map in own() {
        namespace::loaded(namespace, map.name());
    }
    instance.has_objects(own());
    let scope = namespace::list(namespace, &maps, lock);
    instance.answers.scope.publish(scope.leak(), lock);
    if let Some(tool) = parts.last() {
        instance.handle.get_or_init(|| *tool);
    }
    instance.is_initialized();
    Ok(parts)
}

/// Puts an object into the namespace that `ld.so` finalizes before all others: it needs the head, which needs the tool, and nothing needs it.
///
/// The head itself would not do. A tool that needs the MPI library needs the head, under that name, as the head needs the tool; in such a
/// circle `ld.so` finalizes the tool first.
fn watch(
    namespace: &Namespace,
    instance: &'static Instance,
    head: &MemoryFile,
    lock: &LinkerLock,
) -> Result<(), LoadError> {
    const NAME: &str = "qmpi-end";
    let end = callback::with_data(exit::namespace_ends, instance);
    let file = Template::new(NAME, &[head.path_text()], &[], &[], Life::WithDestructor(end))?;
    let file = MemoryFile::new(NAME, file.file())?;
    let handle = namespace::load(namespace, file.path()).map_err(LoadError::link(&instance.path))?;
    namespace::adopt(namespace, NAME, handle, lock);
    Ok(())
}

/// A path that the head of a namespace can name.
fn text(path: &Path) -> Result<&str, LoadError> {
    path.to_str().ok_or_else(|| LoadError::link(path)("its path is not UTF-8"))
}

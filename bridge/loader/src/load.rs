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
use qmpi_elf::write::provider::write_with_destructor;
use qmpi_elf::{ElfFile, Tool};
use qmpi_links::own_calls::CallsOfLayer;
use qmpi_links::{StubError, callback, look_ups, pcontrol};
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
    /// Where the calls go of a layer that hides its own.
    pub mpi: OfMpi<'a>,
}

/// The functions of the MPI library, past all layers.
pub struct OfMpi<'a> {
    /// Of C; 0: nothing there.
    pub c: &'a dyn Fn(FnId) -> usize,
    /// Of Fortran, as [`Links::fortran`].
    pub fortran: &'a dyn Fn(&str) -> Option<usize>,
}

/// Loads tools one after the other.
pub struct Loader<'w, 'a> {
    lock: &'w LinkerLock,
    /// What instances of one tool have in common, which is made once.
    pub heads: Heads<'a>,
}

impl<'w, 'a> Loader<'w, 'a> {
    /// One that has loaded nothing yet.
    pub fn new(lock: &'w LinkerLock) -> Loader<'w, 'a> {
        Loader { lock, heads: Heads::default() }
    }

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
    ) -> Result<Loaded, LoadError> {
        let start = Instant::now();
        let layer = &planned.layer;
        let Some(tool) = planned.pmpi() else { return Err(LoadError::NotPmpi { path: layer.path.clone() }) };
        prepare(process, planned)?;

        let own_calls = (layer.settings.own_calls == qmpi_plan::OwnCalls::Hidden).then(CallsOfLayer::next);
        let calls = Calls::of(tool, links, own_calls)?;
        let wraps = planned.wrapped();
        let instance = instance(planned, &wraps, calls, links.c, process, self.lock);
        log::debug(|| {
            let (label, served) = (&instance.label, tool.closure.stopped.join(", "));
            let names = |objects: &[ElfFile]| objects.iter().map(ElfFile::name).collect::<Vec<_>>().join(", ");
            let (before, private) = (names(tool.closure.before()), names(tool.closure.private()));
            format!("{label}: {place:?}; before it: {before}; served by the process: {served}; private: {private}")
        });
        let parts = match place {
            Place::Namespace => bind(instance, tool, &mut self.heads, self.lock)?,
            Place::Clone => clone::bind(instance, tool, &mut self.heads, self.lock)?,
            Place::NoRoom => {
                let reason = tool.clone_obstacle().unwrap_or_else(|| "none is left for clones".into());
                return Err(LoadError::Namespaces { path: layer.path.clone(), reason });
            }
        };

        stand_ins::tools::loaded(tool, &parts, self.lock);
        let wrappers = Parts::of(tool, &parts);
        let entry = |id, wrapper| own_calls.map_or(Ok(wrapper), |own_calls| own_calls.entry(id, wrapper));
        let (entries, versions) = c_entries(planned, tool, links, &entry, &wrappers)?;
        let fortran = fortran_entries(planned, tool, links, &entry, &wrappers)?;
        let others = Others {
            wrapped: wrapped_functions(&wraps, own_calls, &wrappers)?,
            profiling: if tool.own_profiling.is_empty() { Vec::new() } else { wrappers.profiling() },
            files: wrappers.images().cloned().collect(),
        };
        Ok(Loaded { instance, entries, versions, fortran, others, duration: start.elapsed() })
    }
}

/// The instance of a tool that is about to be loaded as planned, that wraps these functions besides MPI's, and goes on with `calls` to
/// `next_links`.
fn instance(
    planned: &Planned,
    wraps: &[&str],
    calls: Calls,
    next_links: &[usize],
    process: &Arc<Process>,
    lock: &LinkerLock,
) -> &'static Instance {
    let layer = &planned.layer;
    let mut instance = Instance::new(layer.label.clone(), layer.path.clone(), &calls.c, &calls.by_name, process);
    if calls.c != next_links {
        instance.next_links = Box::leak(Box::from(next_links));
    }
    instance.answers.before = planned.pmpi().map_or(0, |tool| tool.closure.before().len());
    let defines_allocator = planned.pmpi().is_some_and(Tool::has_own_allocator);
    instance.has_own_allocator = defines_allocator && !wraps.contains(&"free");
    instance.answers.settings = environment::settings(&layer.settings.env);
    instance.answers.inherited = environment::copy();
    instance.fortran_links = calls.fortran;
    instance.wrapped_below = calls.wrapped;
    let instance: &'static mut Instance = Box::leak(Box::new(instance));
    let look_ups = look_ups::next(wraps, &instance.wrapped_below, &raw const instance.answers);
    let private = planned.pmpi().map(|tool| tool.closure.private()).unwrap_or_default();
    let hidden = wraps.iter().filter(|name| private.iter().any(|file| file.finds(name)));
    let of_process = hidden.filter_map(|name| leaked(*name).and_then(|name| Some((name, dlsym::global(name)?))));
    instance.answers.next = wrapped::next_functions(&instance.wrapped_below, wraps, &look_ups, of_process);
    let instance: &'static Instance = instance;
    environment::give_view(&instance.answers);
    instance.list(lock);
    instance
}

/// The functions that an instance calls: the next links, or stubs that tell its own calls.
struct Calls {
    /// As [`Links::c`].
    c: Vec<usize>,
    /// As [`Links::by_name`].
    by_name: Vec<(FnId, usize)>,
    /// Those of Fortran that it imports, by symbol name.
    fortran: HashMap<String, usize>,
    /// As [`Links::wrapped`].
    wrapped: HashMap<&'static CStr, usize>,
}

impl Calls {
    /// Those of `tool`: the next links, and the MPI library's for calls of its own that are hidden.
    fn of(tool: &Tool, links: &Links<'_>, own_calls: Option<CallsOfLayer>) -> Result<Calls, LoadError> {
        let mut fortran = HashMap::new();
        for name in &tool.fortran_imports {
            let Some(next) = (links.fortran)(name) else { continue };
            let id = qmpi_abi::classify(name).map(|symbol| symbol.id);
            let hidden = own_calls.zip(id).zip((links.mpi.fortran)(name));
            let link = hidden.map_or(Ok(next), |((own_calls, id), mpi)| own_calls.link(id, next, mpi))?;
            fortran.insert(name.clone(), link);
        }
        let link =
            |id: FnId, next: usize| own_calls.map_or(Ok(next), |own_calls| own_calls.link(id, next, (links.mpi.c)(id)));
        let library_link = |name: &CStr, next: usize| {
            let link =
                own_calls.and_then(|calls| Some(calls.other_link(name.to_str().ok()?, next, dlsym::global(name)?)));
            link.unwrap_or(Ok(next))
        };
        let c = FnId::all().map(|id| link(id, links.c[id.index()]));
        let by_name = links.by_name.iter().map(|(id, next)| Ok((*id, link(*id, *next)?)));
        let wrapped = links.wrapped.iter().map(|(name, next)| Ok((*name, library_link(name, *next)?)));
        Ok(Calls {
            c: c.collect::<Result<_, _>>()?,
            by_name: by_name.collect::<Result<_, StubError>>()?,
            fortran,
            wrapped: wrapped.collect::<Result<_, StubError>>()?,
        })
    }
}

/// Makes the function by which a wrapper is entered.
type Enter<'a> = &'a dyn Fn(FnId, usize) -> Result<usize, StubError>;

type Entries = Vec<(FnId, usize)>;
type VersionedEntries = Vec<(FnId, DefinedVersion, usize)>;

/// The C wrappers that become links, and the versions of those that have some.
fn c_entries(
    planned: &Planned,
    tool: &Tool,
    links: &Links<'_>,
    enter: Enter<'_>,
    wrappers: &Parts<'_>,
) -> Result<(Entries, VersionedEntries), LoadError> {
    let (mut entries, mut versions) = (Vec::new(), Vec::new());
    for id in planned.wrappers() {
        let Some((address, others)) = wrappers.find(id) else { continue };
        let below = links.c[id.index()];
        let delivers = id.name() == "MPI_Pcontrol" && !tool.passes_pcontrol_on && below != 0;
        let link = |address| {
            let entered = enter(id, address)?;
            if delivers { pcontrol::deliver_to_both(entered, below) } else { Ok(entered) }
        };
        let entry = link(address)?;
        entries.push((id, entry));
        for (version, other) in others {
            versions.push((id, version, if other == address { entry } else { link(other)? }));
        }
    }
    Ok((entries, versions))
}

/// The Fortran wrappers that do.
fn fortran_entries(
    planned: &Planned,
    tool: &Tool,
    links: &Links<'_>,
    enter: Enter<'_>,
    wrappers: &Parts<'_>,
) -> Result<Vec<(String, usize)>, LoadError> {
    let passes_on = tool.passes_pcontrol_on || tool.fortran_imports.iter().any(|name| is_pcontrol(name));
    let mut entries = Vec::new();
    for (name, id) in planned.fortran_wrappers() {
        let Some(address) = wrappers.find_fortran(name) else { continue };
        let address = enter(id, address)?;
        let address = if is_pcontrol(name) && !passes_on {
            let prefix = if name.starts_with('M') { 'P' } else { 'p' };
            let below = (links.fortran)(&format!("{prefix}{name}"));
            below.map_or(Ok(address), |below| pcontrol::deliver_to_both(address, below))?
        } else {
            address
        };
        entries.push((name.to_owned(), address));
    }
    Ok(entries)
}

/// Its wrappers of functions that are not MPI's.
fn wrapped_functions(
    wraps: &[&str],
    own_calls: Option<CallsOfLayer>,
    wrappers: &Parts<'_>,
) -> Result<Vec<LibraryWrapper>, LoadError> {
    let mut wrapped = Vec::new();
    for name in wraps {
        let Some((address, versions)) = wrappers.find_other(name) else { continue };
        let entry = |address| own_calls.map_or(Ok(address), |own_calls| own_calls.other_entry(name, address));
        let entered = entry(address)?;
        let of_version = |(version, other)| Ok((version, if other == address { entered } else { entry(other)? }));
        let versions = versions.into_iter().map(of_version).collect::<Result<_, LoadError>>()?;
        wrapped.extend(leaked(*name).map(|name| LibraryWrapper { name, address: entered, versions }));
    }
    Ok(wrapped)
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
        handle.ok_or_else(|| LoadError::link(path)("it is not in its namespace".into()))
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
    let end = callback::with_data(exit::namespace_ends, instance)?;
    let file = MemoryFile::new(NAME, &write_with_destructor(NAME, &[head.path_text()], &[], end)?)?;
    let handle = namespace::load(namespace, file.path()).map_err(LoadError::link(&instance.path))?;
    namespace::adopt(namespace, NAME, handle, lock);
    Ok(())
}

/// A path that the head of a namespace can name.
fn text(path: &Path) -> Result<&str, LoadError> {
    path.to_str().ok_or_else(|| LoadError::link(path)("its path is not UTF-8".into()))
}

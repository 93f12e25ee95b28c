//! Loads one PMPI tool: a layer of the stack, in a namespace of its own or as a clone.

use std::ffi::CString;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use qmpi_abi::FnId;
use qmpi_elf::{ElfFile, MpiFamily, SearchPath, Tool};
use qmpi_ring::Writer;
use qmpi_stack::Layer;

use crate::error::LoadError;
use crate::head::Head;
use crate::link_map::Handle;
use crate::memory_file::MemoryFile;
use crate::namespace::{self, Namespace};
use crate::process::Process;
use crate::providers;
use crate::wrappers::Wrappers;
use crate::{Instance, clone, log, pcontrol};

/// A loaded layer: what it intercepts, and what it cost.
#[derive(Debug)]
pub struct Loaded {
    /// The instance.
    pub instance: &'static Instance,
    /// The functions it intercepts, with the address to call.
    pub entries: Vec<(FnId, usize)>,
    /// Its Fortran wrappers, by symbol name.
    pub fortran: Vec<(String, usize)>,
    /// How long it took.
    pub duration: Duration,
}

/// Where an instance lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a namespace of its own.
    Namespace,
    /// In the namespace of all clones.
    Clone,
}

/// What is below a tool.
pub struct Links<'a> {
    /// The next link of each C function by its number; 0: nothing there.
    pub c: &'a [usize],
    /// The next link of a Fortran function, by the symbol name under which the tool calls it (`pmpi_send_`); `None`: the
    /// MPI library's own.
    pub fortran: &'a dyn Fn(&str) -> Option<usize>,
}

/// Loads `layer`, which is the PMPI tool `tool`, above `links`.
///
/// # Errors
/// Whatever is wrong with the tool; the process is as it was, except that a namespace may be used up.
pub fn load(
    process: &mut Arc<Process>,
    layer: &Layer,
    tool: &Tool,
    links: &Links<'_>,
    place: Place,
    writer: &Writer,
) -> Result<Loaded, LoadError> {
    let start = Instant::now();
    admit(process, layer, tool)?;
    let wanted = wanted(layer)?;

    let fortran_links = tool.fortran_imports.iter().filter_map(|name| Some((name.clone(), (links.fortran)(name)?)));
    let instance = Instance::of(layer, links.c, fortran_links.collect(), process);
    log::debug(|| {
        let (label, served) = (&instance.label, tool.closure.stopped.join(", "));
        let private: Vec<&str> = tool.closure.objects.iter().skip(1).map(ElfFile::name).collect();
        format!("{label}: {place:?}; served by the process: {served}; private: {}", private.join(", "))
    });
    let handle = match place {
        Place::Namespace => bind(instance, tool, writer)?,
        Place::Clone => clone::bind(instance, tool, writer)?,
    };

    let mut wrappers = Wrappers::of(handle);
    let wanted = Wanted { layer, tool, functions: wanted };
    let entries = wanted.entries(links, &mut wrappers)?;
    let fortran = wanted.fortran(&entries, links, &mut wrappers)?;
    if layer.direct_calls {
        let count = wrappers.call_directly();
        log::debug(|| format!("{}: {count} calls lead directly to the next link", instance.label));
    }
    Ok(Loaded { instance, entries, fortran, duration: start.elapsed() })
}

/// What of a tool becomes links.
struct Wanted<'a> {
    layer: &'a Layer,
    tool: &'a Tool,
    /// The functions that the configuration restricts it to.
    functions: Option<Vec<FnId>>,
}

impl Wanted<'_> {
    fn has(&self, id: FnId) -> bool {
        self.functions.as_ref().is_none_or(|functions| functions.contains(&id))
    }

    /// Its C wrappers. Those in a library that the tool needs are not used under LD_PRELOAD either: they come after MPI's own.
    fn entries(&self, links: &Links<'_>, wrappers: &mut Wrappers) -> Result<Vec<(FnId, usize)>, LoadError> {
        let mut entries = Vec::new();
        let intercepts = self.tool.objects.first().map(|root| root.intercepts.as_slice()).unwrap_or_default();
        for id in intercepts.iter().copied().filter(|id| self.has(*id)) {
            let Some(address) = wrappers.find(id.name()) else { continue };
            let below = links.c[id.index()];
            let address = match (id.name(), self.tool.passes_pcontrol_on) {
                ("MPI_Pcontrol", _) if !self.layer.pcontrol => continue,
                ("MPI_Pcontrol", false) if below != 0 => pcontrol::deliver_to_both(address, below)?,
                _ => address,
            };
            entries.push((id, address));
        }
        Ok(entries)
    }

    /// Its Fortran wrappers. A layer that is restricted to some functions must not see their Fortran calls otherwise.
    fn fortran(
        &self,
        entries: &[(FnId, usize)],
        links: &Links<'_>,
        wrappers: &mut Wrappers,
    ) -> Result<Vec<(String, usize)>, LoadError> {
        let mut fortran = Vec::new();
        let passes_on = self.tool.passes_pcontrol_on || self.tool.fortran_imports.iter().any(|name| is_pcontrol(name));
        let names = self.tool.objects.first().map(|root| root.fortran_wrappers.as_slice()).unwrap_or_default();
        for name in names {
            let Some(id) = qmpi_abi::classify(name).map(|symbol| symbol.id) else { continue };
            if !entries.iter().any(|(known, _)| *known == id) && !self.has(id) {
                continue;
            }
            let Some(address) = wrappers.find(name) else { continue };
            let address = match is_pcontrol(name) {
                true if !self.layer.pcontrol => continue,
                true if !passes_on => {
                    let prefix = if name.starts_with('M') { 'P' } else { 'p' };
                    let below = (links.fortran)(&format!("{prefix}{name}"));
                    below.map_or(Ok(address), |below| pcontrol::deliver_to_both(address, below))?
                }
                _ => address,
            };
            fortran.push((name.clone(), address));
        }
        Ok(fortran)
    }
}

/// Looks at a layer's file: what kind of tool it is, what it needs.
///
/// # Errors
/// When it is not a sound library of this machine, or a library of `share` cannot be loaded.
pub fn inspect(process: &mut Arc<Process>, layer: &Layer) -> Result<Tool, LoadError> {
    for soname in &layer.share {
        share(process, &layer.path, soname)?;
    }
    let is_shared = |soname: &str| process.is_shared(soname);
    Ok(Tool::inspect(&layer.path, &SearchPath::from_process(), &is_shared)?)
}

/// Refuses a PMPI tool that cannot work in this process, and makes libraries of MPI that it needs exist.
///
/// # Errors
/// The reason.
pub fn admit(process: &mut Arc<Process>, layer: &Layer, tool: &Tool) -> Result<(), LoadError> {
    let path = &layer.path;
    if let (Some(of_tool), Some(of_process)) = (tool.abi, process.family())
        && of_tool != of_process
    {
        return Err(LoadError::OtherMpi {
            path: path.clone(),
            tool: of_tool.name().to_owned(),
            process: name_of(of_process, process),
        });
    }
    if let Some(missing) = tool.closure.missing.first() {
        return Err(LoadError::Dependency {
            path: path.clone(),
            name: missing.name.clone(),
            needed_by: missing.needed_by.clone(),
        });
    }
    // MPI's Fortran or C++ library, which the application does without: LD_PRELOAD would bring it in as well.
    for soname in tool.closure.stopped.iter().filter(|soname| qmpi_elf::is_mpi_soname(soname)) {
        if !qmpi_elf::is_mpi_c_library_file_name(soname) {
            share(process, path, soname)?;
        }
    }
    Ok(())
}

/// Is it the Fortran name of `MPI_Pcontrol`, in some spelling?
fn is_pcontrol(name: &str) -> bool {
    qmpi_abi::classify(name).is_some_and(|symbol| symbol.id.name() == "MPI_Pcontrol")
}

fn share(process: &mut Arc<Process>, path: &Path, soname: &str) -> Result<(), LoadError> {
    Arc::make_mut(process).share(soname).map_err(|message| LoadError::Link { path: path.into(), message })
}

fn name_of(family: MpiFamily, process: &Process) -> String {
    format!("{} ({})", family.name(), process.mpi_name())
}

/// The functions that the configuration restricts the layer to; `None`: no restriction.
///
/// # Errors
/// When a name is none of MPI's.
pub fn wanted(layer: &Layer) -> Result<Option<Vec<FnId>>, LoadError> {
    let Some(functions) = &layer.functions else { return Ok(None) };
    let ids = functions.iter().map(|name| {
        FnId::by_name(name).ok_or_else(|| LoadError::UnknownFunction { path: layer.path.clone(), name: name.clone() })
    });
    ids.collect::<Result<_, _>>().map(Some)
}

/// Makes the namespace: head, tool, providers, in this order, and loaded in one go.
///
/// All are in the namespace's global scope, as a preloaded tool is in the program's: a plugin that the tool opens finds the
/// tool's symbols. The tool stands before the providers, so that a function of glibc that it defines itself is its own.
fn bind(instance: &'static Instance, tool: &Tool, writer: &Writer) -> Result<Handle, LoadError> {
    let process = &*instance.process;
    let needed = &tool.closure.stopped;
    let soname = providers::mpi_soname(tool, process);
    let threads = providers::threads(process).filter(|threads| !needed.iter().any(|name| name == threads));
    let mut files = Vec::new();
    for name in needed.iter().map(String::as_str).chain(threads).filter(|name| *name != soname) {
        files.extend(providers::file(process, name)?.map(|file| (name.to_owned(), file)));
    }
    let path = instance
        .path
        .to_str()
        .ok_or_else(|| LoadError::Link { path: instance.path.clone(), message: "its path is not UTF-8".into() })?;
    let unnamed = &tool.closure.unnamed;
    let private = tool.closure.objects.iter().skip(1).filter(|object| unnamed.iter().any(|name| name == object.name()));
    let mut needs: Vec<&str> = [path].into_iter().chain(private.filter_map(|object| object.path().to_str())).collect();
    needs.extend(files.iter().map(|(_, file)| file.path_text()));
    // Loaded above already; this gives them the names by which versions are looked for.
    needs.extend(unnamed.iter().map(String::as_str));
    let head = Head { process, tool, links: &instance.links, instance }.write(soname, &needs)?;
    let head = MemoryFile::new(soname, &head).map_err(|source| LoadError::Memory { name: soname.into(), source })?;
    let providers = files.iter().map(|(name, file)| (name.clone(), file.path().to_owned()));
    // Set before constructors of the tool run: they may call overrides.
    let providers =
        instance.providers.get_or_init(|| providers.chain([(soname.to_owned(), head.path().to_owned())]).collect());
    namespace::leave_gap();
    let handle = Namespace::create(&instance.path, &head).map_err(|error| match (error, tool.clone_obstacle()) {
        (LoadError::Namespaces { path, .. }, Some(reason)) => LoadError::Namespaces { path, reason },
        (error, _) => error,
    })?;
    let namespace = Namespace::of(handle, providers, writer);
    let tool = namespace.and_then(|namespace| namespace.loaded(&CString::new(path).ok()?));
    let (Some(namespace), Some(tool)) = (namespace, tool) else {
        return Err(LoadError::Link { path: instance.path.clone(), message: "it is not in its namespace".into() });
    };
    instance.set_namespace(namespace);
    Ok(*instance.handle.get_or_init(|| tool))
}

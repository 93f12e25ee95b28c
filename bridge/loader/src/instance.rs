//! One instance of a PMPI tool: a layer of the stack, alone in its namespace.

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use qmpi_abi::FnId;
use qmpi_elf::{ElfFile, MpiFamily, SearchPath, Tool};
use qmpi_stack::Layer;

use crate::error::LoadError;
use crate::head::Head;
use crate::image::Image;
use crate::memory_file::MemoryFile;
use crate::namespace::{self, Handle, Namespace, ProviderFile};
use crate::process::Process;
use crate::{clone, log, overrides, pcontrol, shared};

/// What the overrides know about the instance that calls them. Lives as long as the process.
#[derive(Debug)]
pub struct Instance {
    /// The layer's name in messages.
    pub label: String,
    /// The tool's file.
    pub path: PathBuf,
    pub(crate) env: Vec<(CString, CString)>,
    pub(crate) links: Box<[usize]>,
    /// Next links of Fortran functions that the tool imports, by symbol name.
    pub(crate) fortran_links: HashMap<String, usize>,
    pub(crate) process: Arc<Process>,
    /// It is a tool of the base namespace, which only uses some overrides.
    pub(crate) is_base: bool,
    /// The providers that its namespace starts with: SONAME and path.
    pub(crate) providers: OnceLock<Vec<(String, CString)>>,
    pub(crate) namespace: OnceLock<Arc<Namespace>>,
    pub(crate) handle: OnceLock<Handle>,
    /// Libraries that the tool opened with RTLD_GLOBAL, which a namespace cannot have.
    pub(crate) opened_global: Mutex<Vec<CString>>,
}

static ALL: Mutex<Vec<&'static Instance>> = Mutex::new(Vec::new());

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
) -> Result<Loaded, LoadError> {
    let start = Instant::now();
    admit(process, layer, tool)?;
    let wanted = wanted(layer)?;

    let instance: &'static Instance = Box::leak(Box::new(Instance {
        label: layer.label.clone(),
        path: layer.path.clone(),
        env: layer.env.iter().filter_map(|(name, value)| Some((c_string(name)?, c_string(value)?))).collect(),
        links: links.c.into(),
        fortran_links: tool
            .fortran_imports
            .iter()
            .filter_map(|name| Some((name.clone(), (links.fortran)(name)?)))
            .collect(),
        process: Arc::clone(process),
        is_base: false,
        providers: OnceLock::new(),
        namespace: OnceLock::new(),
        handle: OnceLock::new(),
        opened_global: Mutex::new(Vec::new()),
    }));
    ALL.lock().unwrap_or_else(PoisonError::into_inner).push(instance);
    log::debug(|| {
        let (label, served) = (&instance.label, tool.closure.stopped.join(", "));
        let private: Vec<&str> = tool.closure.objects.iter().skip(1).map(ElfFile::name).collect();
        format!("{label}: {place:?}; served by the process: {served}; private: {}", private.join(", "))
    });
    let handle = match place {
        Place::Namespace => bind(instance, tool)?,
        Place::Clone => clone::bind(instance, tool)?,
    };

    let mut entries = Vec::new();
    // Wrappers in a library that the tool needs are not used under LD_PRELOAD either: they come after MPI's own.
    let intercepts = tool.objects.first().map(|root| root.intercepts.as_slice()).unwrap_or_default();
    for id in intercepts.iter().copied().filter(|id| wanted.as_ref().is_none_or(|wanted| wanted.contains(id))) {
        let Some(address) = CString::new(id.name()).ok().and_then(|name| handle.find(&name)) else { continue };
        let address = match (id.name(), tool.passes_pcontrol_on) {
            ("MPI_Pcontrol", _) if !layer.pcontrol => continue,
            ("MPI_Pcontrol", false) if links.c[id.index()] != 0 => {
                pcontrol::deliver_to_both(address, links.c[id.index()])?
            }
            _ => address,
        };
        entries.push((id, address));
    }
    // A layer that is restricted to some functions must not see their Fortran calls otherwise.
    let is_wanted = |name: &str| {
        let id = qmpi_abi::classify(name).map(|symbol| symbol.id);
        id.is_some_and(|id| {
            entries.iter().any(|(known, _)| *known == id) || wanted.as_ref().is_none_or(|ids| ids.contains(&id))
        })
    };
    let wrappers = tool.objects.first().map(|root| root.fortran_wrappers.as_slice()).unwrap_or_default();
    let fortran = wrappers
        .iter()
        .filter(|name| is_wanted(name))
        .filter_map(|name| Some((name.clone(), handle.find(&CString::new(name.as_str()).ok()?)?)))
        .collect();
    Ok(Loaded { instance, entries, fortran, duration: start.elapsed() })
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
fn bind(instance: &'static Instance, tool: &Tool) -> Result<Handle, LoadError> {
    let process = &*instance.process;
    let needed = &tool.closure.stopped;
    let soname = mpi_soname(tool, process);
    let mut files = Vec::new();
    for name in needed.iter().filter(|name| *name != soname) {
        files.extend(provider_file(process, name)?.map(|file| (name.clone(), file)));
    }
    let path = instance
        .path
        .to_str()
        .ok_or_else(|| LoadError::Link { path: instance.path.clone(), message: "its path is not UTF-8".into() })?;
    let needs: Vec<&str> = [path].into_iter().chain(files.iter().map(|(_, file)| file.path_text())).collect();
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
    let namespace = Namespace::new(handle, providers);
    let tool = namespace.as_ref().and_then(|namespace| namespace.loaded(&c_string(&instance.path)?));
    let (Some(namespace), Some(tool)) = (namespace, tool) else {
        return Err(LoadError::Link { path: instance.path.clone(), message: "it is not in its namespace".into() });
    };
    instance.namespace.get_or_init(|| Arc::new(namespace));
    Ok(*instance.handle.get_or_init(|| tool))
}

impl Instance {
    /// A tool that is in the base namespace already, above `links`: what its look-ups by name need to know.
    pub fn in_base(path: &Path, links: &[usize], process: &Arc<Process>) -> &'static Instance {
        Box::leak(Box::new(Instance {
            label: path.display().to_string(),
            path: path.into(),
            env: Vec::new(),
            links: links.into(),
            fortran_links: HashMap::new(),
            process: Arc::clone(process),
            is_base: true,
            providers: OnceLock::new(),
            namespace: OnceLock::new(),
            handle: OnceLock::new(),
            opened_global: Mutex::new(Vec::new()),
        }))
    }

    /// What this tool's references to `dlsym` and `dlvsym` are to be bound to.
    ///
    /// # Errors
    /// When there are no trampolines left.
    pub fn lookups(&'static self) -> Result<[(&'static CStr, usize); 2], LoadError> {
        overrides::lookups(self)
    }

    /// All instances so far, loaded or being loaded.
    pub(crate) fn all() -> Vec<&'static Instance> {
        ALL.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Its namespace. While it is still being loaded, the namespace that the calling code at `caller` belongs to.
    pub(crate) fn namespace(&self, caller: usize) -> Option<&Namespace> {
        if let Some(namespace) = self.namespace.get() {
            return Some(namespace);
        }
        let namespace = Namespace::new(Namespace::around(caller)?, self.providers.get()?)?;
        Some(self.namespace.get_or_init(|| Arc::new(namespace)))
    }
}

/// The SONAME by which the tool asks for its MPI library.
pub(crate) fn mpi_soname<'a>(tool: &'a Tool, process: &'a Process) -> &'a str {
    let is_mpi = |soname: &&String| qmpi_elf::is_mpi_soname(soname);
    tool.closure.stopped.iter().find(is_mpi).map_or(process.mpi_name(), String::as_str)
}

/// The provider for one needed library, if it takes one.
fn provider_file(process: &Process, soname: &str) -> Result<Option<ProviderFile>, LoadError> {
    if qmpi_elf::family::is_dynamic_linker(soname) {
        return Ok(None); // glibc itself stands the one real ld.so in
    }
    if qmpi_elf::is_mpi_soname(soname) {
        // The head has the symbols of all MPI libraries; this one answers to another name.
        let versions: Vec<&str> = process.shared(soname).into_iter().flat_map(Image::version_names).collect();
        let bytes = qmpi_elf::provider::write(soname, &[], &versions, &[])?;
        return MemoryFile::new(soname, &bytes)
            .map(|file| Some(ProviderFile::Own(file)))
            .map_err(|source| LoadError::Memory { name: soname.into(), source });
    }
    Ok(shared::provider(process, soname)?.map(ProviderFile::Common))
}

/// Puts the provider for a library into a namespace that is there already.
pub(crate) fn provide(namespace: &Namespace, process: &Process, soname: &str) -> Result<(), LoadError> {
    namespace.provide(soname, || provider_file(process, soname))
}

fn c_string(text: impl AsRef<OsStr>) -> Option<CString> {
    CString::new(text.as_ref().as_encoded_bytes()).ok()
}

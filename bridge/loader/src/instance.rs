//! One instance of a PMPI tool.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicPtr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use qmpi_abi::FnId;
use qmpi_dynamic::LinkerLock;
use qmpi_elf::tool::wrapped::has_own_allocator;
use qmpi_links::look_ups;
use qmpi_overrides::Answers;
use qmpi_plan::Planned;
use qmpi_ring::List;

use crate::error::LoadError;
use crate::exit::End;
use crate::load::Calls;
use crate::namespace::link_map::{Handle, LinkMap};
use crate::overrides::{self, environment};
use crate::process::{Process, dlsym};
use crate::wrappers::wrapped;

/// What is known about an instance while it runs. Lives as long as the process.
#[derive(Debug)]
pub struct Instance {
    /// The layer's name in messages.
    pub label: String,
    /// The tool's file.
    pub path: PathBuf,
    /// What its overrides read, which may run at any time.
    pub(crate) answers: Answers,
    /// The next links of all C functions, whichever calls are the tool's own.
    pub(crate) next_links: &'static [usize],
    /// Next links of Fortran functions that the tool imports, by symbol name.
    pub(crate) fortran_links: HashMap<String, usize>,
    /// Functions that are not MPI's and that layers below wrap.
    pub(crate) wrapped_below: HashMap<&'static CStr, usize>,
    /// The tool defines an allocator, and calls the process's.
    pub(crate) has_own_allocator: bool,
    /// The process when the tool was loaded. Other objects than MPI's and those that tools are bound to may have been closed since.
    pub(crate) process: Arc<Process>,
    /// The same when it was last brought up to date. Locked under `ld.so`'s lock only, so it is never waited for.
    last: Mutex<Arc<Process>>,
    /// The providers that its namespace starts with: SONAME and path.
    pub(crate) providers: OnceLock<Vec<(String, CString)>>,
    pub(crate) handle: OnceLock<Handle>,
    /// What it does at exit.
    pub(crate) end: End,
}

/// All instances that were loaded, the last first.
static ALL: List<&'static Instance> = List::new(AtomicPtr::new(std::ptr::null_mut()));

impl Instance {
    /// A tool that is about to be loaded as planned, that wraps these functions besides MPI's and goes on with `calls`.
    pub(crate) fn of(
        planned: &Planned,
        wraps: &[&str],
        calls: &Calls<'_>,
        process: &Arc<Process>,
        lock: &LinkerLock,
    ) -> &'static Instance {
        let layer = &planned.layer;
        let mut instance = Instance::new(layer.label.clone(), layer.path.clone(), &calls.c, &calls.by_name, process);
        if matches!(calls.c, Cow::Owned(_)) {
            instance.next_links = Box::leak(Box::from(calls.next));
        }
        instance.wrapped_below = calls.wrapped.clone().into_owned();
        instance.answers.before = planned.pmpi().map_or(0, |tool| tool.closure.before().len());
        let defines_allocator = planned.pmpi().is_some_and(has_own_allocator);
        instance.has_own_allocator = defines_allocator && !wraps.contains(&"free");
        instance.answers.settings = environment::settings(&layer.env);
        instance.answers.inherited = environment::copy();
        let instance = Instance { fortran_links: calls.fortran.clone(), ..instance };
        let instance: &'static mut Instance = Box::leak(Box::new(instance));
        let look_ups = look_ups::next(wraps, &calls.wrapped, &raw const instance.answers);
        let private = planned.pmpi().map(|tool| tool.closure.private()).unwrap_or_default();
        let hidden = wraps.iter().filter(|name| private.iter().any(|file| file.finds(name)));
        let of_process =
            hidden.filter_map(|name| wrapped::kept(name).and_then(|name| Some((name, dlsym::global(name)?))));
        instance.answers.next = wrapped::next_functions(&calls.wrapped, wraps, &look_ups, of_process);
        let instance: &'static Instance = instance;
        environment::give_view(&instance.answers);
        ALL.add(Box::leak(Box::new(List::node(instance))), lock);
        instance
    }

    /// The process as it is now.
    pub(crate) fn process_now(&self, lock: &LinkerLock) -> Arc<Process> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = last.again(lock);
        Arc::clone(&last)
    }

    /// All instances that were loaded, the last first: of a stack, the outermost.
    pub(crate) fn all() -> impl Iterator<Item = &'static Instance> {
        ALL.iter().copied()
    }

    /// What a library that the tool opened with RTLD_GLOBAL defines under this name.
    fn opened_global(&self, name: &CStr) -> Option<usize> {
        qmpi_overrides::dlsym::opened_global(&self.answers, self.answers.loaded_namespace()?, name)
    }

    /// Where its objects are: the address of the first object of its namespace, 0 if it shares one, and the addresses of the objects that
    /// are its own, first and behind the last.
    pub fn objects(&self) -> (usize, Vec<(usize, usize)>) {
        let range = |map: &'static LinkMap| {
            let loaded = map.program_headers()?.iter().filter(|header| header.p_type == libc::PT_LOAD);
            let end = loaded.map(|header| header.p_vaddr + header.p_memsz).max()?;
            Some((map.base, map.base + end as usize))
        };
        if self.is_alone() {
            let namespace = self.answers.loaded_namespace();
            let objects = namespace.into_iter().flat_map(|namespace| namespace.objects().iter());
            let head = namespace.and_then(|namespace| namespace.head());
            let head = head.map_or(0, |head| std::ptr::from_ref(head).addr());
            return (head, objects.filter(|object| object.is_private).filter_map(|object| range(object.map)).collect());
        }
        let own = self.handle.get().and_then(|handle| handle.map());
        (0, own.and_then(range).into_iter().collect())
    }

    /// A tool that is in the base namespace already, above `links`: what its look-ups by name need to know.
    pub fn in_base(
        path: &Path,
        links: &[usize],
        links_by_name: &[(FnId, usize)],
        process: &Arc<Process>,
    ) -> &'static Instance {
        let mut instance = Instance::new(path.display().to_string(), path.into(), links, links_by_name, process);
        instance.answers.is_base = true;
        Box::leak(Box::new(instance))
    }

    fn new(
        label: String,
        path: PathBuf,
        links: &[usize],
        links_by_name: &[(FnId, usize)],
        process: &Arc<Process>,
    ) -> Instance {
        let mut answers = Answers::new(Box::leak(Box::<[usize]>::from(links)), process.mpi_tables());
        answers.links_by_name = Box::leak(Box::from(links_by_name));
        Instance {
            label,
            path,
            next_links: answers.links,
            answers,
            fortran_links: HashMap::new(),
            wrapped_below: HashMap::new(),
            has_own_allocator: false,
            process: Arc::clone(process),
            last: Mutex::new(Arc::clone(process)),
            providers: OnceLock::new(),
            handle: OnceLock::new(),
            end: End::default(),
        }
    }

    /// What this tool's references to `dlsym` and `dlvsym` are to be bound to.
    ///
    /// # Errors
    /// When no further stubs can be mapped.
    pub fn lookups(&'static self) -> Result<[(&'static CStr, usize); 2], LoadError> {
        overrides::lookups(self)
    }
}

/// What a library that a tool opened with RTLD_GLOBAL defines under this name; of several tools, the outermost.
pub fn opened_global(name: &CStr) -> Option<usize> {
    Instance::all().find_map(|instance| instance.opened_global(name))
}

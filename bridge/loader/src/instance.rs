//! One instance of a PMPI tool.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicPtr;
use std::sync::{Arc, OnceLock};

use qmpi_abi::FnId;
use qmpi_dynamic::LinkerLock;
use qmpi_overrides::Answers;
use qmpi_ring::List;
use qmpi_system::Locked;

use crate::end::End;
use crate::link_map::{Handle, LinkMap};
use crate::process::Process;

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
    /// The process when a tool last opened a library. Locked under `ld.so`'s lock only, so it is never waited for.
    last: Locked<Arc<Process>>,
    /// The providers that its namespace starts with: SONAME and path.
    pub(crate) providers: OnceLock<Vec<(String, CString)>>,
    pub(crate) handle: OnceLock<Handle>,
    /// What it does at exit.
    pub(crate) end: End,
}

/// All instances that were loaded, the last first.
static ALL: List<&'static Instance> = List::new(AtomicPtr::new(std::ptr::null_mut()));

impl Instance {
    /// Lists it among those that were loaded.
    pub(crate) fn list(&'static self, lock: &LinkerLock) {
        ALL.add(Box::leak(Box::new(List::node(self))), lock);
    }

    /// The process as it is now.
    pub(crate) fn process_now(&self, lock: &LinkerLock) -> Arc<Process> {
        let mut last = self.last.lock();
        *last = last.again(lock);
        Arc::clone(&last)
    }

    /// All instances that were loaded, the last first: of a stack, the outermost.
    pub(crate) fn all() -> impl Iterator<Item = &'static Instance> {
        ALL.iter().copied()
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
            let objects = namespace.into_iter().flat_map(|namespace| namespace.objects.get());
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

    pub(crate) fn new(
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
            last: Locked::new(Arc::clone(process)),
            providers: OnceLock::new(),
            handle: OnceLock::new(),
            end: End::default(),
        }
    }
}

/// A C string that lives as long as the process; `None`: the text has a NUL in it.
pub(crate) fn leaked(text: impl Into<Vec<u8>>) -> Option<&'static CStr> {
    Some(Box::leak(CString::new(text).ok()?.into_boxed_c_str()))
}

/// What a library that a tool opened with RTLD_GLOBAL defines under this name; of several tools, the outermost.
pub fn opened_global(name: &CStr) -> Option<usize> {
    Instance::all().find_map(|instance| {
        qmpi_overrides::dlsym::opened_global(&instance.answers, instance.answers.loaded_namespace()?, name)
    })
}

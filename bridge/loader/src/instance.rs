//! One instance of a PMPI tool.
#![expect(unsafe_code, reason = "a pointer to a namespace that is never freed")]

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, OnceLock};

use qmpi_abi::FnId;
use qmpi_plan::Layer;
use qmpi_ring::List;

use crate::error::LoadError;
use crate::load::Links;
use crate::namespace::Namespace;
use crate::namespace::head;
use crate::namespace::link_map::Handle;
use crate::overrides::{self, getenv::Inherited};
use crate::process::Process;
use crate::process::loader_lock;

/// What the overrides know about the instance that calls them. Lives as long as the process.
#[derive(Debug)]
pub struct Instance {
    /// The layer's name in messages.
    pub label: String,
    /// The tool's file.
    pub path: PathBuf,
    pub(crate) env: Vec<(CString, CString)>,
    pub(crate) inherited: Inherited,
    pub(crate) links: Box<[usize]>,
    /// The links that `dlsym` finds where they are others.
    pub(crate) links_by_name: Box<[(FnId, usize)]>,
    /// Next links of Fortran functions that the tool imports, by symbol name.
    pub(crate) fortran_links: HashMap<String, usize>,
    pub(crate) process: Arc<Process>,
    /// It is a tool of the base namespace, which only uses some overrides.
    pub(crate) is_base: bool,
    /// The providers that its namespace starts with: SONAME and path.
    pub(crate) providers: OnceLock<Vec<(String, CString)>>,
    /// Its namespace once it is known; null before.
    namespace: AtomicPtr<Namespace>,
    pub(crate) handle: OnceLock<Handle>,
    /// Libraries that the tool opened with RTLD_GLOBAL, which a namespace cannot have.
    pub(crate) opened_global: List<CString>,
}

impl Instance {
    /// A tool that is about to be loaded as `layer`, above `links`.
    pub(crate) fn of(
        layer: &Layer,
        links: &Links<'_>,
        fortran_links: HashMap<String, usize>,
        process: &Arc<Process>,
    ) -> &'static Instance {
        let variable = |(name, value): &(String, String)| {
            Some((CString::new(name.as_str()).ok()?, CString::new(value.as_str()).ok()?))
        };
        let instance = Instance::new(layer.label.clone(), layer.path.clone(), links.c, links.by_name, process);
        let env = layer.env.iter().filter_map(variable).collect();
        Box::leak(Box::new(Instance { env, inherited: Inherited::copy(), fortran_links, ..instance }))
    }

    /// A tool that is in the base namespace already, above `links`: what its look-ups by name need to know.
    pub fn in_base(
        path: &Path,
        links: &[usize],
        links_by_name: &[(FnId, usize)],
        process: &Arc<Process>,
    ) -> &'static Instance {
        let instance = Instance::new(path.display().to_string(), path.into(), links, links_by_name, process);
        Box::leak(Box::new(Instance { is_base: true, ..instance }))
    }

    fn new(
        label: String,
        path: PathBuf,
        links: &[usize],
        links_by_name: &[(FnId, usize)],
        process: &Arc<Process>,
    ) -> Instance {
        Instance {
            label,
            path,
            env: Vec::new(),
            inherited: Inherited::none(),
            links: links.into(),
            links_by_name: links_by_name.into(),
            fortran_links: HashMap::new(),
            process: Arc::clone(process),
            is_base: false,
            providers: OnceLock::new(),
            namespace: AtomicPtr::new(std::ptr::null_mut()),
            handle: OnceLock::new(),
            opened_global: List::default(),
        }
    }

    /// The next link of a name of MPI as `dlsym` finds it.
    pub(crate) fn link_by_name(&self, name: &str) -> Option<usize> {
        let is_it = |(id, _): &&(FnId, usize)| id.name() == name;
        let other = self.links_by_name.iter().find(is_it).map(|(_, address)| *address);
        other.or_else(|| head::link(&self.links, name))
    }

    /// What this tool's references to `dlsym` and `dlvsym` are to be bound to.
    ///
    /// # Errors
    /// When no further stubs can be mapped.
    pub fn lookups(&'static self) -> Result<[(&'static CStr, usize); 2], LoadError> {
        overrides::lookups(self)
    }

    /// Sets its namespace.
    pub(crate) fn set_namespace(&self, namespace: &'static Namespace) {
        self.namespace.store(std::ptr::from_ref(namespace).cast_mut(), Ordering::Release);
    }

    /// Its namespace. While it is still being loaded, the namespace that the calling code at `caller` belongs to: the thread
    /// that loads it is in a constructor, and has `ld.so`'s lock.
    pub(crate) fn namespace(&self, caller: usize) -> Option<&'static Namespace> {
        // SAFETY: null, or a namespace of the list, which is never freed.
        let namespace = unsafe { self.namespace.load(Ordering::Acquire).as_ref() };
        if namespace.is_some() {
            return namespace;
        }
        let providers = self.providers.get()?;
        let head = Namespace::around(caller)?;
        let namespace = loader_lock::with(|writer| Namespace::of(head, providers, writer))?;
        self.set_namespace(namespace);
        Some(namespace)
    }
}

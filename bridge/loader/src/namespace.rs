//! A private linker namespace: its head, its providers, and what is loaded into it.
#![expect(unsafe_code, reason = "dlmopen, dlinfo and dladdr")]

pub(crate) mod clone;
mod clone_code;
pub(crate) mod head;
pub(crate) mod link_map;
pub(crate) mod memory_file;
pub(crate) mod providers;
pub(crate) mod shared;

use std::ffi::{CStr, CString, c_void};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicPtr;

use qmpi_ring::{List, Writer};

use crate::error::LoadError;
use crate::namespace::link_map::{Handle, LinkMap, dlerror};
use crate::namespace::memory_file::MemoryFile;

/// dlfcn.h; the libc crate lacks it.
const RTLD_DL_LINKMAP: libc::c_int = 2;

unsafe extern "C" {
    /// dlfcn.h; the libc crate lacks it.
    fn dladdr1(
        address: *const c_void,
        info: *mut libc::Dl_info,
        extra: *mut *mut c_void,
        flags: libc::c_int,
    ) -> libc::c_int;
}

/// A namespace with its head in place. Lives as long as the process.
#[derive(Debug)]
pub(crate) struct Namespace {
    id: libc::Lmid_t,
    head: Handle,
    /// Providers in it.
    providers: List<Provider>,
}

/// A provider in a namespace.
#[derive(Debug)]
struct Provider {
    soname: String,
    handle: Handle,
}

/// All namespaces, for `dl_iterate_phdr`.
static ALL: List<Namespace> = List::new(AtomicPtr::new(std::ptr::null_mut()));

/// How many namespaces of glibc's are taken by tools.
pub fn in_use() -> usize {
    ALL.iter().count()
}

impl Namespace {
    /// Opens a new namespace with the provider `head`, which brings everything else with it.
    ///
    /// `tool` is for whom; it stands in error messages. Constructors of the tool run before this returns, and they may call
    /// overrides, which find the namespace by [`Namespace::around`].
    pub(crate) fn create(tool: &Path, head: &MemoryFile) -> Result<Handle, LoadError> {
        open(libc::LM_ID_NEWLM, head.path()).map_err(|message| {
            if message.contains("no more namespaces") {
                return LoadError::Namespaces { path: tool.into(), reason: "others took them".into() };
            }
            // dlerror starts with the file's name, which the error has already.
            let prefix = format!("{}: ", tool.display());
            let message = message.strip_prefix(&prefix).map(str::to_owned).unwrap_or(message);
            LoadError::Link { path: tool.into(), message }
        })
    }

    /// The namespace whose first object is `head`, added to the list of all unless it is there; `providers` are those that it came
    /// with: SONAME and path.
    pub(crate) fn of(head: Handle, providers: &[(String, CString)], writer: &Writer) -> Option<&'static Namespace> {
        if let Some(namespace) = Namespace::all().find(|namespace| namespace.head == head) {
            return Some(namespace);
        }
        let mut id: libc::Lmid_t = 0;
        // SAFETY: the handle is open, and `id` has the type that RTLD_DI_LMID stores.
        let failed = unsafe { libc::dlinfo(head.0, libc::RTLD_DI_LMID, (&raw mut id).cast()) } != 0;
        if failed {
            return None;
        }
        let find = |path: &CStr| head.objects().find(|map| map.name() == path).map(Handle::of);
        let namespace = Namespace { id, head, providers: List::default() };
        for (soname, path) in providers {
            if let Some(handle) = find(path) {
                namespace.add(soname, handle, writer);
            }
        }
        Some(ALL.add(Box::leak(Box::new(List::node(namespace))), writer))
    }

    /// All namespaces.
    pub(crate) fn all() -> impl Iterator<Item = &'static Namespace> {
        ALL.iter()
    }

    fn add(&self, soname: &str, handle: Handle, writer: &Writer) {
        self.providers.add(Box::leak(Box::new(List::node(Provider { soname: soname.into(), handle }))), writer);
    }

    /// The first object of the namespace that the code at `address` belongs to.
    pub(crate) fn around(address: usize) -> Option<Handle> {
        let mut map = object_at(address)?.map()?;
        // SAFETY: neighbours in the list of a namespace, which is never unloaded.
        while let Some(previous) = unsafe { map.previous.as_ref() } {
            map = previous;
        }
        Some(Handle::of(map))
    }

    /// Loads a provider, unless the namespace has one of this SONAME.
    pub(crate) fn provide(
        &self,
        soname: &str,
        file: impl FnOnce() -> Result<Option<ProviderFile>, LoadError>,
        writer: &Writer,
    ) -> Result<(), LoadError> {
        if self.has_provider(soname) {
            return Ok(());
        }
        let Some(file) = file()? else { return Ok(()) };
        let handle =
            open(self.id, file.path()).map_err(|message| LoadError::Link { path: PathBuf::from(soname), message })?;
        self.add(soname, handle, writer);
        Ok(())
    }

    /// Loads a library into a namespace that is there already.
    pub(crate) fn load(&self, path: &CStr) -> Result<Handle, String> {
        open(self.id, path)
    }

    /// Remembers an object that is loaded already as a provider.
    pub(crate) fn adopt(&self, soname: &str, provider: Handle, writer: &Writer) {
        self.add(soname, provider, writer);
    }

    /// A library by any name, if it is loaded here already.
    pub(crate) fn loaded(&self, name: &CStr) -> Option<Handle> {
        // SAFETY: RTLD_NOLOAD: no constructor can run.
        let handle = unsafe { libc::dlmopen(self.id, name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        (!handle.is_null()).then_some(Handle(handle))
    }

    /// All real objects: no providers.
    pub(crate) fn objects(&'static self) -> impl Iterator<Item = &'static LinkMap> {
        self.head.objects().filter(|map| self.providers.iter().all(|provider| provider.handle != Handle::of(map)))
    }

    /// Is there a provider of this SONAME?
    pub(crate) fn has_provider(&self, soname: &str) -> bool {
        self.providers.iter().any(|provider| provider.soname == soname)
    }

    /// The SONAME of the provider that this handle stands for.
    pub(crate) fn provider_of(&self, handle: Handle) -> Option<&'static str> {
        self.providers.iter().find(|provider| provider.handle == handle).map(|provider| provider.soname.as_str())
    }

    /// Its first object, which is also what `dlopen(NULL)` gives in it.
    pub(crate) fn head(&self) -> Handle {
        self.head
    }
}

/// The object that the code at `address` belongs to, in whatever namespace.
pub(crate) fn object_at(address: usize) -> Option<Handle> {
    // SAFETY: all-zero is a valid value.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let mut map: *mut LinkMap = std::ptr::null_mut();
    // SAFETY: RTLD_DL_LINKMAP stores a pointer to a link map.
    let found = unsafe {
        dladdr1(std::ptr::without_provenance(address), &raw mut info, (&raw mut map).cast(), RTLD_DL_LINKMAP)
    };
    // SAFETY: `dladdr1` found the object; it is not unloaded while its code is running.
    let map = unsafe { map.as_ref() }.filter(|_| found != 0)?;
    Some(Handle::of(map))
}

/// A provider's file: of one namespace, or of all of them.
pub(crate) enum ProviderFile {
    /// Written for this namespace.
    Own(MemoryFile),
    /// Written once per process.
    Common(Arc<MemoryFile>),
}

impl std::ops::Deref for ProviderFile {
    type Target = MemoryFile;

    fn deref(&self) -> &MemoryFile {
        match self {
            ProviderFile::Own(file) => file,
            ProviderFile::Common(file) => file,
        }
    }
}

fn open(namespace: libc::Lmid_t, path: &CStr) -> Result<Handle, String> {
    // Lazily, as what is preloaded: unless the file or LD_BIND_NOW asks for more, a function that is never called need not exist.
    // SAFETY: constructors of a tool run here, as they would under LD_PRELOAD; providers have none.
    let handle = unsafe { libc::dlmopen(namespace, path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
    if handle.is_null() { Err(dlerror()) } else { Ok(Handle(handle)) }
}

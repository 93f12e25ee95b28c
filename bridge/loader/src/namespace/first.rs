//! The object that `ld.so` initializes before all others of a namespace (DF_1_INITFIRST): what has to happen between relocation and the
//! first constructor of a tool, its constructor does. Most namespaces have none.
#![expect(unsafe_code, reason = "dlmopen")]

use std::ffi::{CStr, CString, c_int};
use std::sync::OnceLock;

use qmpi_dynamic::LinkerLock;
use qmpi_elf::Tool;
use qmpi_elf::write::provider;

use crate::error::LoadError;
use crate::links::callback;
use crate::namespace::link_map::{self, Handle, dlerror};
use crate::namespace::memory_file::MemoryFile;
use crate::namespace::thread_local::{self, Variables};
use crate::{Instance, log};

/// Its SONAME.
pub(crate) const SONAME: &str = "qmpi-first";

/// What its constructor does.
#[derive(Debug)]
pub(crate) struct First {
    variables: Variables,
    /// The head of the namespace.
    head: OnceLock<CString>,
}

/// That of the namespace of a tool, and its file; `None`: nothing has to happen.
///
/// # Errors
/// What is wrong with references of the tool to thread-local variables.
pub(crate) fn of(tool: &Tool, instance: &'static Instance) -> Result<Option<(&'static First, MemoryFile)>, LoadError> {
    let variables = thread_local::of(tool, instance)?;
    if variables.is_empty() {
        return Ok(None);
    }
    let first = &*Box::leak(Box::new(First { variables, head: OnceLock::new() }));
    let bytes = provider::write_first(SONAME, &first.variables.symbols(), callback::with_data(begin, first)?)?;
    let file = MemoryFile::new(SONAME, &bytes).map_err(|source| LoadError::Memory { name: SONAME.into(), source })?;
    Ok(Some((first, file)))
}

impl First {
    /// The namespace is about to be loaded, with this head.
    pub(crate) fn expect(&self, head: &CStr) {
        self.head.get_or_init(|| head.to_owned());
    }
}

/// The first constructor of the namespace.
extern "C" fn begin(_: c_int, first: &'static First) {
    /// glibc's DL_NNS, of which the first is the program's.
    const NAMESPACES: libc::Lmid_t = 16;
    let mode = libc::RTLD_NOLOAD | libc::RTLD_LAZY;
    let head = first.head.get().and_then(|head| {
        (1..NAMESPACES).find_map(|id| {
            // SAFETY: RTLD_NOLOAD: no constructor can run.
            let handle = unsafe { libc::dlmopen(id, head.as_ptr(), mode) };
            if handle.is_null() {
                // Takes the refusal back: a later dlerror of the program must not see it.
                drop(dlerror());
            }
            (!handle.is_null()).then_some(Handle(handle))
        })
    });
    let Some(head) = head.and_then(Handle::map) else {
        log::fatal("the namespace of a tool that is being initialized is not there", None)
    };
    // SAFETY: `ld.so` calls constructors under its lock, and this one for `dlmopen`.
    let lock = unsafe { LinkerLock::held() };
    for map in head.and_following() {
        if let Some(image) = link_map::image(map) {
            first.variables.bind(&lock, &image);
        }
    }
}

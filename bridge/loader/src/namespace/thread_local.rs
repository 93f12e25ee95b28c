//! Thread-local variables of the program (`extern __thread int x`) that a tool uses.
//!
//! A reference to one is no address but an offset from the thread pointer, or a module and an offset, which `ld.so` takes from the object
//! that defines the symbol. In a namespace that is a provider, so that the tool can be loaded; what `ld.so` has written is then written
//! anew. That has to happen between relocation and the first constructor: the provider is the object that `ld.so` initializes
//! before all others (DF_1_INITFIRST), and its constructor does it.
//!
//! The variables are those of the program itself, which each thread has from its start. Those of a library of the program are not given:
//! a library may be without a place that is the same in all threads.
#![expect(unsafe_code, reason = "asks ld.so for the place of a variable, and binds references")]

use std::ffi::{CStr, CString, c_int};
use std::sync::OnceLock;

use qmpi_dynamic::objects;
use qmpi_dynamic::thread_local::{self, Variable};
use qmpi_elf::write::provider::{self, Provided, ProvidedKind};
use qmpi_elf::{Name, Tool};

use crate::error::LoadError;
use crate::image::{Image, Kind};
use crate::links::callback;
use crate::namespace::link_map::{self, Handle, dlerror};
use crate::namespace::memory_file::MemoryFile;
use crate::process::Process;
use crate::{Instance, arch, log};

/// The SONAME of the provider.
pub(crate) const SONAME: &str = "qmpi-thread-local";

/// The variables of the program that a tool refers to.
#[derive(Debug)]
pub(crate) struct Variables {
    found: Vec<(CString, Variable)>,
    /// The head of the tool's namespace.
    head: OnceLock<CString>,
}

/// What `__tls_get_addr` is asked for (psABI 3.4.6).
#[repr(C)]
struct Index {
    module: usize,
    offset: usize,
}

unsafe extern "C" {
    fn __tls_get_addr(index: *const Index) -> *const u8;
}

/// Those of a tool; `None`: it refers to none.
///
/// # Errors
/// [`LoadError::ThreadLocal`] for a variable of a library of the program.
pub(crate) fn of(tool: &Tool, instance: &Instance) -> Result<Option<&'static Variables>, LoadError> {
    let process = &*instance.process;
    let mut found = Vec::new();
    for name in names(tool, process) {
        let refused = || LoadError::ThreadLocal { path: instance.path.clone(), symbol: name.to_owned() };
        let variable = process.images().first().and_then(|program| variable(program, name)).ok_or_else(refused)?;
        found.extend(CString::new(name).ok().map(|name| (name, variable)));
    }
    let has_any = !found.is_empty();
    Ok(has_any.then(|| &*Box::leak(Box::new(Variables { found, head: OnceLock::new() }))))
}

/// The names of thread-local variables that nothing in the namespace has.
pub(crate) fn names<'a>(tool: &'a Tool, process: &Process) -> Vec<&'a str> {
    let is_one = |name: &str| process.definition(Name::from(name)).is_some_and(|symbol| symbol.kind == Kind::Tls);
    tool.undefined_elsewhere.iter().map(String::as_str).filter(|name| is_one(name)).collect()
}

fn variable(program: &Image, name: &str) -> Option<Variable> {
    let symbol = program.find_name(Name::from(name)).filter(|symbol| symbol.kind == Kind::Tls)?;
    // The program is listed first.
    let module = objects::find(|info| Some(info.raw().dlpi_tls_modid)).filter(|module| *module != 0)?;
    let offset = symbol.address.wrapping_sub(program.base());
    // SAFETY: the program has such a variable in each thread.
    let address = unsafe { __tls_get_addr(&Index { module, offset }) }.addr();
    let from_thread = address.wrapping_sub(arch::thread_pointer());
    Some(Variable { module, offset, from_thread, descriptor: (arch::descriptor as *const ()).addr() })
}

impl Variables {
    /// The provider that stands for the program.
    pub(crate) fn provider(&'static self) -> Result<MemoryFile, LoadError> {
        let symbols = self.found.iter().map(|(name, _)| Provided::new(name.as_c_str(), ProvidedKind::ThreadLocal, 0));
        let bytes = provider::write_first(SONAME, &symbols.collect::<Vec<_>>(), callback::with_data(bind, self)?)?;
        MemoryFile::new(SONAME, &bytes).map_err(|source| LoadError::Memory { name: SONAME.into(), source })
    }

    /// The namespace is about to be loaded, with this head.
    pub(crate) fn expect(&self, head: &CStr) {
        self.head.get_or_init(|| head.to_owned());
    }

    fn find(&self, name: &CStr) -> Option<Variable> {
        self.found.iter().find(|(known, _)| known.as_c_str() == name).map(|(_, variable)| *variable)
    }
}

/// The first constructor of the namespace.
extern "C" fn bind(_: c_int, variables: &'static Variables) {
    /// glibc's DL_NNS, of which the first is the program's.
    const NAMESPACES: libc::Lmid_t = 16;
    let mode = libc::RTLD_NOLOAD | libc::RTLD_LAZY;
    let head = variables.head.get().and_then(|head| {
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
        log::fatal("thread-local variables of the program: the namespace of the tool is not there", None)
    };
    for image in head.and_following().filter_map(link_map::image) {
        // SAFETY: the object is being loaded: none of its code has run.
        let count = unsafe { thread_local::bind(image.mapped(), |name| variables.find(name)) };
        if count > 0 {
            log::debug(|| format!("{}: {count} words lead to the program's variables", image.path().display()));
        }
    }
}

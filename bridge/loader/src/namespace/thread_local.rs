//! Thread-local variables of the program (`extern __thread int x`) that a tool uses.
//!
//! A reference to one is no address but an offset from the thread pointer, or a module and an offset, which `ld.so` takes from the object
//! that defines the symbol. In a namespace that is a provider, so that the tool can be loaded; what `ld.so` has written is then written
//! anew, between relocation and the first constructor (`first.rs`).
//!
//! The variables are those of the program itself, which each thread has from its start. Those of a library of the program are not given:
//! a library may be without a place that is the same in all threads.
#![expect(unsafe_code, reason = "asks ld.so for the place of a variable, and binds references")]

use std::arch::naked_asm;
use std::ffi::{CStr, CString};

use qmpi_dynamic::thread_local::{self, ThreadLocalVariable};
use qmpi_dynamic::{LinkerLock, objects};
use qmpi_elf::write::provider::{Provided, ProvidedKind};
use qmpi_elf::{Name, Tool};
use qmpi_system::log;

use crate::error::LoadError;
use crate::image::{Image, SymbolKind};
use crate::instance::Instance;
use crate::process::Process;

/// The variables of the program that a tool refers to.
#[derive(Debug)]
pub(crate) struct Variables(Vec<(CString, ThreadLocalVariable)>);

/// What `__tls_get_addr` is asked for (psABI 3.4.6).
#[repr(C)]
struct TlsIndex {
    module: usize,
    offset: usize,
}

unsafe extern "C" {
    fn __tls_get_addr(index: *const TlsIndex) -> *const u8;
}

/// The function of a descriptor (`_dl_tlsdesc_return` of glibc), which leaves all registers but one as they are.
#[unsafe(naked)]
extern "C" fn descriptor() {
    naked_asm!(assembly!("descriptor"))
}

/// Those of a tool; mostly it refers to none.
///
/// # Errors
/// [`LoadError::ThreadLocal`] for a variable of a library of the program.
pub(crate) fn of(tool: &Tool, instance: &Instance) -> Result<Variables, LoadError> {
    let process = &*instance.process;
    let mut found = Vec::new();
    for name in names(tool, process) {
        let refused = || LoadError::ThreadLocal { path: instance.path.clone(), symbol: name.to_owned() };
        let variable = process.images().first().and_then(|program| variable(program, name)).ok_or_else(refused)?;
        found.extend(CString::new(name).ok().map(|name| (name, variable)));
    }
    Ok(Variables(found))
}

/// The names of thread-local variables that nothing in the namespace has.
pub(crate) fn names<'a>(tool: &'a Tool, process: &Process) -> Vec<&'a str> {
    let is_one = |name: &str| process.definition(Name::from(name)).is_some_and(|symbol| symbol.kind == SymbolKind::Tls);
    tool.undefined_elsewhere.iter().map(String::as_str).filter(|name| is_one(name)).collect()
}

fn variable(program: &Image, name: &str) -> Option<ThreadLocalVariable> {
    let symbol = program.find_name(name).filter(|symbol| symbol.kind == SymbolKind::Tls)?;
    // The program is listed first.
    let module = objects::find(|info| Some(info.raw().dlpi_tls_modid)).filter(|module| *module != 0)?;
    let offset = symbol.address.wrapping_sub(program.base());
    // SAFETY: the program has such a variable in each thread.
    let address = unsafe { __tls_get_addr(&TlsIndex { module, offset }) }.addr();
    let from_thread = address.wrapping_sub(qmpi_links::arch::thread_pointer());
    Some(ThreadLocalVariable { module, offset, from_thread, descriptor: (descriptor as *const ()).addr() })
}

impl Variables {
    /// The tool refers to none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The symbols of the provider that stands for the program.
    pub(crate) fn symbols(&self) -> Vec<Provided<'_>> {
        self.0.iter().map(|(name, _)| Provided::new(name.as_c_str(), ProvidedKind::ThreadLocal, 0)).collect()
    }

    /// Binds the references of an object of the namespace, of which no code has run.
    pub(crate) fn bind(&self, lock: &LinkerLock, image: &Image) {
        // SAFETY: the object is being loaded: none of its code has run.
        let count = unsafe { thread_local::bind(lock, image.mapped(), |name| self.find(name)) };
        if count > 0 {
            log::debug(|| format!("{}: {count} words lead to the program's variables", image.path().display()));
        }
    }

    fn find(&self, name: &CStr) -> Option<ThreadLocalVariable> {
        self.0.iter().find(|(known, _)| known.as_c_str() == name).map(|(_, variable)| *variable)
    }
}

//! Thread-local variables of the program (`extern __thread int x`) that a tool uses.
//!
//! A reference to one is no address but an offset from the thread pointer, or a module and an offset, which `ld.so` takes from the object
//! that defines the symbol. In a namespace that is a provider, so that the tool can be loaded; what `ld.so` has written is then written
//! anew, between relocation and the first constructor. The C library's `crti.o`, with which compilers begin a library, has DT_INIT call
//! `__gmon_start__`, if anything defines it, and `ld.so` calls DT_INIT before the constructors in DT_INIT_ARRAY. The head of such a namespace
//! defines it. (DF_1_INITFIRST would not do: `ld.so` has one object with this flag, and that may be the tool's.)
//!
//! The variables are those of the program itself, which each thread has from its start. Those of a library of the program are not given:
//! a library may be without a place that is the same in all threads.
#![expect(unsafe_code, reason = "asks ld.so for the place of a variable, and binds references")]

use std::arch::naked_asm;
use std::ffi::{CStr, CString, c_int};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use qmpi_dynamic::thread_local::{self, ThreadLocalVariable};
use qmpi_dynamic::{LinkerLock, objects};
use qmpi_elf::write::provider::{self, Provided, ProvidedKind};
use qmpi_elf::{Name, Tool};
use qmpi_links::callback;
use qmpi_system::log;

use crate::error::LoadError;
use crate::image::{Image, SymbolKind};
use crate::instance::Instance;
use crate::link_map::{self, Handle};
use crate::memory_file::MemoryFile;
use crate::process::Process;

/// The function that each library calls before its constructors.
pub(crate) const BEFORE_CONSTRUCTORS: &CStr = c"__gmon_start__";

/// The SONAME of the provider that stands for the variables.
pub(crate) const SONAME: &str = "qmpi-first";

/// The variables of the program that the tool of a namespace refers to.
#[derive(Debug)]
struct Variables {
    all: Vec<(CString, ThreadLocalVariable)>,
    /// The head of the namespace.
    head: OnceLock<CString>,
    /// References are bound to them.
    are_bound: AtomicBool,
}

/// What a namespace gets for them.
pub(crate) struct Preparation {
    variables: &'static Variables,
    /// The address of the function that each library calls before its constructors.
    pub(crate) function: usize,
    pub(crate) provider: MemoryFile,
}

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
    naked_asm!(qmpi_ring::assembly!("descriptor"))
}

impl Preparation {
    /// That of the namespace of a tool; `None`: the tool refers to no such variable.
    ///
    /// # Errors
    /// [`LoadError::ThreadLocal`] for a variable of a library of the program.
    pub(crate) fn of(tool: &Tool, instance: &Instance) -> Result<Option<Preparation>, LoadError> {
        let mut all = Vec::new();
        for name in names(tool, &instance.process) {
            let refused = || LoadError::ThreadLocal { path: instance.path.clone(), symbol: name.to_owned() };
            let program = instance.process.images().first();
            let variable = program.and_then(|program| variable(program, name)).ok_or_else(refused)?;
            all.extend(CString::new(name).ok().map(|name| (name, variable)));
        }
        if all.is_empty() {
            return Ok(None);
        }
        let names = all.iter().map(|(name, _)| name.as_c_str());
        let symbols: Vec<_> = names.map(|name| Provided::new(name, ProvidedKind::ThreadLocal, 0)).collect();
        let provider = MemoryFile::new(SONAME, &provider::write(SONAME, &[], &[], &symbols)?)?;
        let variables = Variables { all, head: OnceLock::new(), are_bound: AtomicBool::new(false) };
        let variables: &'static Variables = Box::leak(Box::new(variables));
        Ok(Some(Preparation { variables, function: callback::with_data(bind, variables), provider }))
    }

    /// The namespace is about to be loaded, with this head.
    pub(crate) fn expect(&self, head: &CStr) {
        self.variables.head.get_or_init(|| head.to_owned());
    }
}

/// The names of thread-local variables that the tool refers to and nothing in its namespace has.
pub(crate) fn names<'a>(tool: &'a Tool, process: &Process) -> Vec<&'a str> {
    let is_one = |name: &str| process.definition(Name::from(name)).is_some_and(|symbol| symbol.kind == SymbolKind::Tls);
    tool.undefined_elsewhere.iter().map(String::as_str).filter(|name| is_one(name)).collect()
}

fn variable(program: &Image, name: &str) -> Option<ThreadLocalVariable> {
    let symbol = program.find(name).filter(|symbol| symbol.kind == SymbolKind::Tls)?;
    // The program is listed first.
    let module = objects::find(|info| Some(info.raw().dlpi_tls_modid)).filter(|module| *module != 0)?;
    let offset = symbol.address.wrapping_sub(program.base());
    // SAFETY: the program has such a variable in each thread.
    let address = unsafe { __tls_get_addr(&TlsIndex { module, offset }) }.addr();
    let from_thread = address.wrapping_sub(qmpi_links::arch::thread_pointer());
    Some(ThreadLocalVariable { module, offset, from_thread, descriptor: (descriptor as *const ()).addr() })
}

/// A library of the namespace is about to be initialized: binds the references of all that came with it, of which no code has run.
extern "C" fn bind(_: c_int, variables: &'static Variables) {
    // Each library calls it, also those that the tool opens later.
    if variables.are_bound.swap(true, Ordering::Relaxed) {
        return;
    }
    let head = variables.head.get().and_then(|head| loaded_anywhere(head)).and_then(Handle::map);
    let Some(head) = head else { log::fatal("the namespace of a tool that is being initialized is not there", None) };
    // SAFETY: `ld.so` calls constructors under its lock, and relocates all that comes with a library before the first.
    let lock = unsafe { LinkerLock::held() };
    let find = |name: &CStr| variables.all.iter().find(|(known, _)| known.as_c_str() == name).map(|(_, known)| *known);
    for image in head.and_following().filter_map(Image::of_map) {
        // SAFETY: the object is being loaded: none of its code has run.
        let count = unsafe { thread_local::bind(&lock, image.mapped(), find) };
        if count > 0 {
            log::debug(|| format!("{}: {count} words lead to the program's variables", image.path().display()));
        }
    }
}

/// The object at this path, in whatever namespace of tools.
fn loaded_anywhere(path: &CStr) -> Option<Handle> {
    /// glibc's DL_NNS, of which the first is the program's.
    const NAMESPACES: libc::Lmid_t = 16;
    (1..NAMESPACES).find_map(|id| link_map::open_in(id, path, libc::RTLD_NOLOAD | libc::RTLD_LAZY).ok())
}

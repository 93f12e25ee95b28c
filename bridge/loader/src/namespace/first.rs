//! What has to happen in a namespace between relocation and the first constructor of a tool. Most namespaces have nothing.
//!
//! The C library's `crti.o`, with which compilers begin a library, has DT_INIT call `__gmon_start__`, if anything defines it, and `ld.so` calls
//! DT_INIT before the constructors in DT_INIT_ARRAY. The head of such a namespace defines it. (DF_1_INITFIRST would not do: `ld.so` has one
//! object with this flag, and that may be the tool's.)
#![expect(unsafe_code, reason = "dlmopen")]

use std::ffi::{CStr, CString, c_int};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use qmpi_dynamic::LinkerLock;
use qmpi_elf::Tool;
use qmpi_elf::write::provider;
use qmpi_links::callback;
use qmpi_system::log;

use crate::error::LoadError;
use crate::image::Image;
use crate::instance::Instance;
use crate::link_map::{Handle, dlerror};
use crate::memory_file::MemoryFile;
use crate::namespace::thread_local::{self, Variables};

/// The function that each library calls before its constructors.
pub(crate) const NAME: &CStr = c"__gmon_start__";

/// The SONAME of the provider that stands for the program's thread-local variables.
pub(crate) const SONAME: &str = "qmpi-first";

/// What happens.
#[derive(Debug)]
struct First {
    variables: Variables,
    /// The head of the namespace.
    head: OnceLock<CString>,
    /// It has happened.
    is_over: AtomicBool,
}

/// What the namespace gets for that.
pub(crate) struct Preparation {
    first: &'static First,
    /// The address of the function.
    pub(crate) function: usize,
    /// The provider of the thread-local variables.
    pub(crate) provider: MemoryFile,
}

impl Preparation {
    /// That of the namespace of a tool; `None`: nothing has to happen.
    ///
    /// # Errors
    /// What is wrong with references of the tool to thread-local variables.
    pub(crate) fn of(tool: &Tool, instance: &'static Instance) -> Result<Option<Preparation>, LoadError> {
        let variables = thread_local::of(tool, instance)?;
        if variables.is_empty() {
            return Ok(None);
        }
        let provider = MemoryFile::new(SONAME, &provider::write(SONAME, &[], &[], &variables.symbols())?)?;
        let first = &*Box::leak(Box::new(First { variables, head: OnceLock::new(), is_over: AtomicBool::new(false) }));
        Ok(Some(Preparation { first, function: callback::with_data(begin, first)?, provider }))
    }

    /// The namespace is about to be loaded, with this head.
    pub(crate) fn expect(&self, head: &CStr) {
        self.first.head.get_or_init(|| head.to_owned());
    }
}

/// A library of the namespace is about to be initialized.
extern "C" fn begin(_: c_int, first: &'static First) {
    // Each library calls it, also those that the tool opens later.
    if first.is_over.swap(true, Ordering::Relaxed) {
        return;
    }
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
    // SAFETY: `ld.so` calls constructors under its lock, and relocates all that comes with a library before the first.
    let lock = unsafe { LinkerLock::held() };
    for map in head.and_following() {
        Image::of_map(map).iter().for_each(|image| first.variables.bind(&lock, image));
    }
}

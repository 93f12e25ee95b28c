//! Functions that are not MPI's and that layers wrap: calls by the program and its libraries reach the first wrapper.
//!
//! Under `LD_PRELOAD` `ld.so` binds references to the first object that defines a name, and tools are the first objects behind the
//! program. Layers stand where `libqmpi.so` does. So once the stack is complete, references of the base namespace's objects are rebound,
//! function pointers included; those of libraries that are opened later before their constructors run (`start.rs`), at the latest before
//! the program can look up a function in one.
//!
//! A weak reference that nothing in the process fits, by which a program asks whether a tool is there, gets what the outermost tool
//! exports under the name; so does a look-up by name.
//!
//! A tool that defines `PMPI_f` gets the calls of the program that are meant to bypass tools, as under `LD_PRELOAD`.
//!
//! | left alone | because |
//! |---|---|
//! | references of glibc | they do not go through the symbol tables; but its calls of `malloc` and its kin do |
//! | a name that the program, or a library before `libqmpi.so`, defines | that definition comes first under `LD_PRELOAD`, too |
//! | what tools in namespaces call | their heads have the wrappers of the layers below |

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

use qmpi_dynamic::{LinkerLock, Mapped, hash, objects};
use qmpi_elf::linker::family;
use qmpi_elf::{Name, Names};
use qmpi_loader::image::Image;
use qmpi_loader::image::rebind::Reference;
use qmpi_loader::wrappers::wrapped::Stacked;

use crate::name;
use crate::process::{fortran, rebound};
use crate::ring::is_entry;

/// The wrappers, once the stack is complete.
static OF_PROCESS: OnceLock<WrappedFunction> = OnceLock::new();

#[derive(Debug)]
struct WrappedFunction {
    stacked: Stacked,
    /// The names that come to the layers.
    names: Names<'static>,
    /// What tools define as `PMPI_f`, for programs that call it.
    profiling: HashMap<&'static CStr, usize>,
}

/// Functions by which glibc hands out memory, for its own calls too.
const OF_ALLOCATOR: [&CStr; 4] = [c"malloc", c"calloc", c"realloc", c"free"];

/// Rebinds the objects of the process.
pub(crate) fn enter(lock: &LinkerLock, images: &[Image], stacked: Stacked) {
    if stacked.is_empty() {
        return;
    }
    let before_us = || images.iter().take_while(|image| !is_entry(image));
    let comes_to_layers = |name: &CStr| before_us().all(|image| image.find(name).is_none());
    let names = stacked.top().keys().copied().filter(|name| comes_to_layers(name)).map(Name::from).collect();
    let mut profiling = stacked.profiling();
    profiling.retain(|name, _| comes_to_layers(name));
    let wrapped = OF_PROCESS.get_or_init(|| WrappedFunction { stacked, names, profiling });
    for image in images {
        wrapped.rebind(lock, image, images);
    }
}

/// Rebinds those of `images` that were opened since.
pub(crate) fn enter_opened(lock: &LinkerLock, images: &[Image], new: &[Image]) {
    let Some(wrapped) = OF_PROCESS.get() else { return };
    for image in new {
        wrapped.rebind(lock, image, images);
    }
}

impl WrappedFunction {
    /// Rebinds references of an object of the process, which has all of `images`.
    fn rebind(&self, lock: &LinkerLock, image: &Image, images: &[Image]) {
        let own = (enter as *const ()).addr();
        if is_entry(image) || image.contains(own) || family::is_dynamic_linker(image.name()) {
            return;
        }
        let is_glibc = family::is_glibc_family(image.name());
        if is_glibc && OF_ALLOCATOR.iter().all(|name| !self.comes_to_layers(name)) {
            return;
        }
        // Names tell at once; going through all relocations takes ten times as long.
        let has_names = !self.names.is_empty() || !self.profiling.is_empty();
        let is_concerned = |(name, is_weak): (&CStr, bool)| {
            self.comes_to_layers(name)
                || self.profiling.contains_key(name)
                || is_weak && self.exported(name, images).is_some()
        };
        // A library calls a function of its own through its PLT: a preloaded tool that defines it gets these calls. Of MPI that is `PMPI_f`,
        // of others the one by which it lets a tool be found.
        let is_mpi = qmpi_elf::is_mpi_soname(image.name());
        let defines_names = || self.names.iter().any(|name| image.find(*name).is_some());
        let calls_itself = || is_mpi && !self.profiling.is_empty() || defines_names();
        if !image.undefined(|is_weak| is_weak || has_names).any(is_concerned) && !is_glibc && !calls_itself() {
            return;
        }
        // That of MPI's Fortran libraries enters the stack (`fortran.rs`), as that of a tool of the program (`base.rs`).
        let defines_mpi = || {
            let mut symbols = image.symbols_of_mpi().filter(|symbol| symbol.defined);
            symbols.any(|symbol| name::plain_id(symbol.name).is_some())
        };
        let enters_elsewhere = OnceCell::new();
        let may_bypass =
            || !enters_elsewhere.get_or_init(|| if is_mpi { fortran::is_fortran(image) } else { defines_mpi() });
        rebound::rebind(lock, image, "lead to wrappers of layers", |reference| {
            if is_glibc && !OF_ALLOCATOR.contains(&reference.name) {
                None
            } else if self.comes_to_layers(reference.name) {
                self.referred(image, reference)
            } else if let Some(address) = self.profiling.get(reference.name) {
                may_bypass().then_some(*address)
            } else if reference.is_weak {
                self.exported(reference.name, images)
            } else {
                None
            }
        });
    }

    /// Is it a function that layers wrap, and no object before `libqmpi.so` defines?
    fn comes_to_layers(&self, name: &CStr) -> bool {
        !self.names.is_empty() && self.names.contains(&Name::from(name))
    }

    /// What a tool exports under a name that nothing in the process defines, but what stands for a tool (`qmpi_loader::stand_ins`).
    fn exported(&self, name: &CStr, images: &[Image]) -> Option<usize> {
        if qmpi_abi::classify_c(name).is_some() {
            return None;
        }
        let address = self.stacked.exported(name)?;
        let defines =
            |image: &Image| image.find(name).is_some_and(|symbol| !self.stacked.is_exported(name, symbol.address));
        (!images.iter().any(defines)).then_some(address)
    }

    fn referred(&self, image: &Image, reference: &Reference<'_>) -> Option<usize> {
        let version = image.needed_version(reference);
        self.stacked.of(reference.name).find_map(|wrapped| wrapped.referred(version))
    }
}

/// What the outermost tool exports under this name, which is no function of MPI, or a library that a tool has opened with RTLD_GLOBAL;
/// 0 for a name that none exports, or that an object of the process has, but one that stands for a tool (`qmpi_loader::stand_ins`). Takes no
/// lock of this library's.
///
/// The objects' tables are read: what a refusal of `dlsym` leaves behind, a wrapper of `malloc` that looks its next function up would
/// free while `dlerror` uses it.
#[expect(unsafe_code, reason = "C strings of the program")]
pub(crate) extern "C" fn find_export(name: *const c_char) -> usize {
    let Some(wrapped) = OF_PROCESS.get() else { return 0 };
    // SAFETY: `dlsym` wants a C string.
    let name = unsafe { CStr::from_ptr(name) };
    let opened = || qmpi_loader::opened_global(name);
    let Some(address) = wrapped.stacked.exported(name).or_else(opened) else { return 0 };
    let hash = hash::gnu(name.to_bytes());
    let is_defined = objects::find(|info| {
        let (_, address) = Mapped::for_names(info.segments())?.find(name.to_bytes(), hash)?;
        (!wrapped.stacked.is_exported(name, address)).then_some(())
    });
    if is_defined.is_some() { 0 } else { address }
}

/// What `dlsym` finds of this name for the program, or `dlvsym` if `version` is not null; 0 where no layer wraps it, or an object
/// before `libqmpi.so` defines it. Takes no lock.
#[expect(unsafe_code, reason = "C strings of the program")]
pub(crate) extern "C" fn find(name: *const c_char, version: *const c_char) -> usize {
    let Some(wrapped) = OF_PROCESS.get() else { return 0 };
    // SAFETY: `dlsym` wants a C string.
    let name = unsafe { CStr::from_ptr(name) };
    if let Some(address) = wrapped.profiling.get(name) {
        return *address;
    }
    if !wrapped.comes_to_layers(name) {
        return 0;
    }
    // SAFETY: null, or a C string, as `dlvsym` wants.
    let version = (!version.is_null()).then(|| unsafe { CStr::from_ptr(version) });
    let mut all = wrapped.stacked.of(name);
    let found = match version {
        Some(version) => all.find_map(|wrapped| wrapped.referred(Some(version))),
        None => all.next().map(qmpi_loader::wrappers::wrapped::LibraryWrapper::looked_up),
    };
    found.unwrap_or(0)
}

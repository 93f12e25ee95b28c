//! `dlopen` of a tool.
//!
//! * `RTLD_GLOBAL` in a namespace other than the base makes `ld.so` follow a null pointer
//!   (`elf/dl-open.c:add_to_global_resize`, every glibc up to 2.43): the flag is cleared, and the library remembered for
//!   the tool's later `dlsym(RTLD_DEFAULT, ...)`, and for the program (`stand_ins/plugins.rs`).
//! * A library that exists once per process must not be loaded again under another name (`libmpi.so`, an absolute path).
//! * What the new library needs must be provided before `ld.so` looks for it on disk.
#![expect(unsafe_code, reason = "reads C strings that the tool passes")]

use std::ffi::{CStr, CString, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use qmpi_dynamic::LinkerLock;
use qmpi_elf::{Closure, ElfFile, SearchPath};
use qmpi_overrides::Namespace;
use qmpi_ring::List;

use crate::namespace::providers::provide;
use crate::process::loader_lock;
use crate::{Instance, Process};

/// The arguments with which glibc's `dlopen` is called; returned in `rax` and `rdx`.
#[repr(C)]
pub(crate) struct Arguments {
    file: *const c_char,
    mode: usize,
}

/// Looks at the arguments before glibc does; `caller` is the return address of the call.
pub(crate) extern "C" fn prepare(
    file: *const c_char,
    mode: c_int,
    instance: &'static Instance,
    caller: usize,
) -> Arguments {
    let unchanged = Arguments { file, mode: mode as usize };
    if file.is_null() {
        return Arguments { mode: (mode & !libc::RTLD_GLOBAL) as usize, ..unchanged };
    }
    // SAFETY: the tool passes a C string, as `dlopen` wants.
    let name = unsafe { CStr::from_ptr(file) };
    let is_new = || !instance.answers.opened_global.iter().any(|opened| *opened == name);
    if mode & libc::RTLD_GLOBAL != 0 && !name.is_empty() && is_new() {
        let name: &'static CStr = Box::leak(Box::<CStr>::from(name));
        let node = Box::leak(Box::new(List::node(name)));
        loader_lock::with(|lock| instance.answers.opened_global.add(node, lock));
    }
    let mode = (mode & !libc::RTLD_GLOBAL) as usize;
    let Some(namespace) = instance.answers.namespace(caller) else { return Arguments { file, mode } };
    let stand_in = loader_lock::with(|lock| {
        let process = &*instance.process_now(lock);
        let stand_in = stand_in(instance, process, namespace, name, lock);
        if stand_in.is_none() {
            provide_for(instance, process, namespace, Path::new(OsStr::from_bytes(name.to_bytes())), lock);
        }
        crate::namespace::shared::close_files();
        stand_in
    });
    if let Some(shared) = stand_in {
        // dlopen keeps no reference to the name it was given, but ld.so may show it: it stays valid.
        return Arguments { file: shared.into_raw(), mode };
    }
    Arguments { file, mode }
}

/// The SONAME of the provider that stands for `name`, if it is a library that exists once per process.
fn stand_in(
    instance: &Instance,
    process: &Process,
    namespace: &Namespace,
    name: &CStr,
    lock: &LinkerLock,
) -> Option<CString> {
    let file_name = Path::new(OsStr::from_bytes(name.to_bytes())).file_name()?.to_str()?;
    let soname = if process.is_shared(file_name) {
        file_name
    } else if qmpi_elf::is_mpi_c_library_file_name(file_name) {
        process.mpi_name()
    } else {
        return None;
    };
    if process.is_in_heads(soname) {
        // The instance's own head: in the namespace of clones others answer to the same name.
        return instance.providers.get()?.iter().find(|(known, _)| known == soname).map(|(_, path)| path.clone());
    }
    provide(namespace, process, soname, lock).ok()?;
    namespace.has_provider(soname).then(|| CString::new(soname).ok())?
}

/// Provides what the library at `path`, and the libraries it needs, expect of shared ones.
fn provide_for(instance: &Instance, process: &Process, namespace: &Namespace, path: &Path, lock: &LinkerLock) {
    let search = SearchPath::from_process();
    let root = ElfFile::open(&instance.path).ok().and_then(|tool| {
        let found =
            if path.components().count() > 1 { Some(path.to_owned()) } else { search.find(path.to_str()?, &tool, &[]) };
        ElfFile::open(&found?).ok()
    });
    // What cannot be opened here cannot be opened by glibc either, which will say why.
    let Some(root) = root else { return };
    let closure = Closure::of(root, &search, &|soname| process.is_shared(soname));
    for soname in &closure.stopped {
        if let Err(error) = provide(namespace, process, soname, lock) {
            crate::log::warn(&format!("{}: {error}", instance.label), None);
        }
    }
}

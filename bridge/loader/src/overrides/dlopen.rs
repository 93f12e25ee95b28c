//! `dlopen` of a tool.
//!
//! * `RTLD_GLOBAL` in a namespace other than the base makes `ld.so` follow a null pointer
//!   (`elf/dl-open.c:add_to_global_resize`, every glibc up to 2.43): the flag is cleared, and the library remembered for
//!   the tool's later `dlsym(RTLD_DEFAULT, ...)`, and for the program (`stand_ins/plugins.rs`).
//! * A library that exists once per process is not loaded again, whatever its name is (`libmpi.so`, an absolute path): a file is known by its
//!   device and inode, an MPI library by its SONAME as well.
//! * A library that the program has opened is opened there once more, where the two can have one copy (`process/common.rs`).
//! * What the new library needs must be provided before `ld.so` looks for it on disk.
#![expect(unsafe_code, reason = "reads C strings that the tool passes, and opens libraries for it")]

use std::arch::naked_asm;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use qmpi_dynamic::LinkerLock;
use qmpi_elf::{Closure, ElfFile, SearchPath};
use qmpi_overrides::Namespace;
use qmpi_ring::List;
use qmpi_system::log;

use crate::instance::Instance;
use crate::link_map;
use crate::namespace::providers::{self, provide};
use crate::process::Process;
use crate::process::loader_lock;

/// What the override goes on with, in the registers of a result.
#[repr(C)]
struct Outcome {
    /// The file for glibc's `dlopen`, or the handle to return.
    value: *const c_void,
    /// The mode for glibc's `dlopen`, or [`IS_HANDLE`].
    mode: isize,
}

/// There is nothing left for glibc to do. No mode has this value.
const IS_HANDLE: isize = -1;

/// `dlopen(file, mode)` of a tool: [`prepare`] returns both arguments anew, or the handle.
#[unsafe(naked)]
pub(crate) extern "C" fn of_tool() {
    naked_asm!(
        qmpi_ring::assembly!("dlopen"),
        is_handle = const IS_HANDLE,
        prepare = sym prepare,
        real = sym libc::dlopen,
    )
}

/// What is opened in place of a file that the tool names.
enum Instead {
    /// The provider at this path.
    Provider(CString),
    /// The program's copy at this path.
    OfProgram(CString),
}

/// Looks at the arguments before glibc does; `caller` is the return address of the call.
extern "C" fn prepare(file: *const c_char, mode: c_int, instance: &'static Instance, caller: usize) -> Outcome {
    let local = mode & !libc::RTLD_GLOBAL;
    let unchanged = Outcome { value: file.cast(), mode: local as isize };
    if file.is_null() {
        return unchanged;
    }
    // SAFETY: the tool passes a C string, as `dlopen` wants.
    let name = unsafe { CStr::from_ptr(file) };
    let namespace = instance.answers.namespace(caller);
    let instead = namespace.and_then(|namespace| {
        loader_lock::with(|lock| {
            let instead = look_at(instance, namespace, name, lock);
            providers::close_files();
            instead
        })
    });
    if let Some(Instead::OfProgram(path)) = instead {
        // The program has this library open: no constructor runs. This library is the caller, so it is the program's namespace.
        return link_map::open(&path, mode).map_or(unchanged, |handle| Outcome { value: handle.0, mode: IS_HANDLE });
    }
    let is_new = || !instance.answers.opened_global.iter().any(|opened| *opened == name);
    if mode & libc::RTLD_GLOBAL != 0 && !name.is_empty() && is_new() {
        let name: &'static CStr = Box::leak(Box::<CStr>::from(name));
        let node = Box::leak(Box::new(List::node(name)));
        loader_lock::with(|lock| instance.answers.opened_global.add(node, lock));
    }
    match instead {
        // dlopen keeps no reference to the name it was given, but ld.so may show it: it stays valid.
        Some(Instead::Provider(path)) => Outcome { value: path.into_raw().cast_const().cast(), ..unchanged },
        _ => unchanged,
    }
}

/// Finds out which file the tool means; one that the process does not have is prepared for its namespace.
fn look_at(
    instance: &'static Instance,
    namespace: &'static Namespace,
    name: &CStr,
    lock: &LinkerLock,
) -> Option<Instead> {
    let text = name.to_str().ok()?;
    let process = &*instance.process_now(lock);
    let stand_in = |soname| provider(instance, process, namespace, soname, lock).map(Instead::Provider);
    if let Some(soname) = process.once(text) {
        return stand_in(soname);
    }
    let search = SearchPath::from_process();
    // What cannot be opened here cannot be opened by glibc either, which will say why.
    let file = ElfFile::open(&search.find(text, &ElfFile::open(&instance.path).ok()?, &[])?).ok()?;
    if let Some(soname) = process.once_as(&file) {
        return stand_in(soname);
    }
    if let Some(image) = process.opened_by_program(&file).filter(|_| !has(namespace, &file)) {
        return image.c_path().map(Instead::OfProgram);
    }
    // What it, and the libraries it needs, expect of shared ones.
    for soname in &Closure::of(file, Vec::new(), &search, &|soname| process.is_shared(soname)).stopped {
        if let Err(error) = provide(namespace, process, soname, lock) {
            log::warn(&format!("{}: {error}", instance.label), None);
        }
    }
    None
}

/// Has the namespace loaded this file?
fn has(namespace: &Namespace, file: &ElfFile) -> bool {
    let is_it =
        |path: &CStr| ElfFile::identity_at(Path::new(OsStr::from_bytes(path.to_bytes()))) == Some(file.identity());
    namespace.maps().any(|map| is_it(map.name()))
}

/// The path of the provider that stands in the namespace for a library that exists once per process.
fn provider(
    instance: &Instance,
    process: &Process,
    namespace: &Namespace,
    soname: &str,
    lock: &LinkerLock,
) -> Option<CString> {
    // The instance's own head: in the namespace of clones others answer to the same name.
    let own = || instance.providers.get()?.iter().find(|(known, _)| known == soname).map(|(_, path)| path.clone());
    if let Some(path) = if process.is_in_heads(soname) { own() } else { None } {
        return Some(path);
    }
    provide(namespace, process, soname, lock).ok()?;
    namespace.has_provider(soname).then(|| CString::new(soname).ok())?
}

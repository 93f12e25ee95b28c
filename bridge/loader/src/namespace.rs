//! Private linker namespaces: loads heads, providers and libraries into them, and lists what is in them for the overrides
//! (`qmpi_overrides::namespace`), which may not ask `ld.so` themselves.
#![expect(unsafe_code, reason = "dlinfo")]

pub(crate) mod providers;
pub(crate) mod thread_local;

use std::ffi::{CStr, CString};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use qmpi_dynamic::LinkerLock;
use qmpi_overrides::{Namespace, Object, Provider, dl_iterate_phdr, find_object};
use qmpi_ring::List;

use crate::error::LoadError;
use crate::link_map::{self, Handle, LinkMap, dlerror, object_at};
use crate::memory_file::MemoryFile;
use crate::process::dlsym;

/// How many namespaces of glibc's are taken by tools.
pub fn in_use() -> usize {
    Namespace::all().count()
}

/// A namespace that is about to be loaded with the provider `head`; `providers` are those that it will come with, `head` among
/// them: SONAME and path.
pub(crate) fn expect(head: &CStr, providers: &[(String, CString)], lock: &LinkerLock) -> &'static Namespace {
    static IS_FIRST: AtomicBool = AtomicBool::new(true);
    if IS_FIRST.swap(false, Ordering::Relaxed) {
        learn_from_glibc();
    }
    let namespace = Namespace::add(Box::leak(Box::new(List::node(Namespace::expected(Box::leak(head.into()))))), lock);
    for (soname, path) in providers {
        let is_mpi = qmpi_elf::is_mpi_soname(soname);
        let provider = Provider::expected(soname.clone().leak(), Box::leak(path.as_c_str().into()), is_mpi);
        namespace.add_provider(Box::leak(Box::new(List::node(provider))), lock);
    }
    namespace
}

/// Finds out what this glibc can say, which allocates where it cannot: before a constructor of a tool asks.
fn learn_from_glibc() {
    // glibc before 2.36 is asked for program headers once, in vain.
    if let Some(own) = object_at((learn_from_glibc as *const ()).addr()).and_then(Handle::map) {
        own.program_headers();
    }
    match dlsym::global(c"_dl_find_object") {
        Some(function) => find_object::set(function),
        // Takes the refusal back: a later dlerror of the program must not see it.
        None => drop(dlerror()),
    }
}

/// Opens a namespace with the provider `head`, which brings everything else with it.
///
/// `tool` is the tool's file, for error messages. Constructors of the tool run before this returns, and they may call
/// overrides.
pub(crate) fn create(namespace: &'static Namespace, tool: &Path, head: &MemoryFile) -> Result<(), LoadError> {
    let handle = open(libc::LM_ID_NEWLM, head.path()).map_err(|message| {
        if message.contains("no more namespaces") {
            return LoadError::Namespaces { path: tool.into(), reason: "others took them".into() };
        }
        // dlerror starts with the file's name, which the error has already.
        let rest = message.strip_prefix(&format!("{}: ", tool.display())).map(str::to_owned);
        LoadError::link(tool)(rest.unwrap_or(message))
    })?;
    handle.map().into_iter().for_each(|map| namespace.set_head(map));
    Ok(())
}

/// Adds objects that are never unloaded to what the overrides know of a namespace, and returns them in the order of `ld.so`.
pub(crate) fn list(
    namespace: &'static Namespace,
    wanted: &[&'static LinkMap],
    lock: &LinkerLock,
) -> Vec<&'static Object> {
    let is_wanted = |map: &LinkMap| wanted.iter().any(|wanted| std::ptr::eq(*wanted, map));
    let mut all = namespace.objects.get().to_vec();
    let mut listed: Vec<&'static Object> = all.iter().copied().filter(|object| is_wanted(object.map)).collect();
    let last = all.last().map(|object| object.map);
    let mut is_new = last.is_none();
    let mut new = Vec::new();
    for map in namespace.maps() {
        if is_wanted(map) && !listed.iter().any(|object| std::ptr::eq(object.map, map)) {
            new.extend(describe(namespace, map).map(|object| (object, is_new)));
        }
        is_new |= last.is_some_and(|last| std::ptr::eq(last, map));
    }
    for (object, is_new) in new {
        // One that stands before others that are listed already was a library that a tool had opened: it serves its purpose unlisted.
        if is_new {
            all.push(object);
        }
        listed.push(object);
    }
    if all.len() > namespace.objects.get().len() {
        namespace.objects.publish(all.leak(), lock);
    }
    listed
}

fn describe(namespace: &Namespace, map: &'static LinkMap) -> Option<&'static Object> {
    let headers = map.program_headers()?;
    let tls_module = dl_iterate_phdr::tls_module(map, headers);
    let is_private = !map.is_linker() && !namespace.is_provider(map);
    Some(Box::leak(Box::new(Object { map, headers, tls_module, is_private, mapped: map.mapped() })))
}

/// Takes an object that is loaded for a provider.
pub(crate) fn adopt(namespace: &Namespace, soname: &str, handle: Handle, lock: &LinkerLock) {
    let provider = Provider::loaded(soname.to_owned().leak(), qmpi_elf::is_mpi_soname(soname), handle);
    namespace.add_provider(Box::leak(Box::new(List::node(provider))), lock);
}

/// Loads a library into a namespace that is there already.
pub(crate) fn load(namespace: &Namespace, path: &CStr) -> Result<Handle, String> {
    open(id(namespace).ok_or("the namespace is not there")?, path)
}

/// A library by any name, if it is loaded in the namespace already. It stays for ever.
pub(crate) fn loaded(namespace: &Namespace, name: &CStr) -> Option<Handle> {
    link_map::open_in(id(namespace)?, name, libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE).ok()
}

/// By which number glibc knows a namespace.
fn id(namespace: &Namespace) -> Option<libc::Lmid_t> {
    let mut id: libc::Lmid_t = 0;
    let head = Handle::of(namespace.head()?);
    // SAFETY: the handle is open, and `id` has the type that RTLD_DI_LMID stores.
    let failed = unsafe { libc::dlinfo(head.0, libc::RTLD_DI_LMID, (&raw mut id).cast()) } != 0;
    (!failed).then_some(id)
}

fn open(namespace: libc::Lmid_t, path: &CStr) -> Result<Handle, String> {
    // Lazily, as what is preloaded: unless the file or LD_BIND_NOW asks for more, a function that is never called need not exist.
    // And for ever, as that is: otherwise `ld.so` allocates when it binds a call to such an object (`elf/dl-lookup.c: add_dependency`).
    link_map::open_in(namespace, path, libc::RTLD_LAZY | libc::RTLD_LOCAL | libc::RTLD_NODELETE)
}

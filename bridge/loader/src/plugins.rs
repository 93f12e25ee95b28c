//! Libraries that tools opened with RTLD_GLOBAL: what the program opens later is bound to them, as under `LD_PRELOAD`.
//!
//! They are in a namespace, whose symbols `ld.so` does not look at for the program. So a library of addresses stands for each at the end of
//! the program's scope, which is where RTLD_GLOBAL puts one: under its SONAME, by which the program's libraries may need it. It is made
//! before the program opens a library: from the moment on in which a tool opens one so, the program's `dlopen` passes by here.
//! Nothing of this is there before.
#![expect(unsafe_code, reason = "dlclose")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use qmpi_elf::write::provider::Provided;
use qmpi_overrides::{LinkMap, dlsym};
use qmpi_ring::Writer;

use crate::image::{Image, Kind};
use crate::namespace::link_map::{self, Handle};
use crate::process::{is_private_everywhere, loader_lock, scope_end};
use crate::{Instance, arch, log};

/// Called when a tool makes the first one global; 0: nothing is to be done.
static BEGIN: AtomicUsize = AtomicUsize::new(0);

/// Lets `begin` be called when a tool opens a library with RTLD_GLOBAL, under `ld.so`'s lock.
pub fn on_first(begin: fn()) {
    BEGIN.store(begin as usize, Ordering::Release);
}

/// A tool is about to open a library with RTLD_GLOBAL.
pub(crate) fn begins() {
    let begin = BEGIN.swap(0, Ordering::AcqRel);
    if begin != 0 {
        // SAFETY: what `on_first` was given.
        let begin = unsafe { std::mem::transmute::<usize, fn()>(begin) };
        begin();
    }
}

/// `dlopen` of the program, once there may be such libraries: shows them, and goes on to the process's.
pub fn dlopen_of_program() -> usize {
    (arch::dlopen_of_program as *const ()).addr()
}

/// A library of addresses at the end of the program's scope.
struct Shown {
    /// What it stands for: where its link map is, and its path.
    map: usize,
    path: Vec<u8>,
    /// Its handle; `None`: it could not be made.
    handle: Option<Handle>,
}

/// Locked under `ld.so`'s lock only, so it is never waited for.
static SHOWN: Mutex<Vec<Shown>> = Mutex::new(Vec::new());

/// Lets the program's scope have what the tools have opened so far, and not what they have closed.
pub(crate) extern "C" fn show() {
    loader_lock::with(|writer| {
        let mut shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let now = opened(writer);
        shown.retain(|shown| {
            let is_open = now.iter().any(|map| shown.is_of(map));
            if let Some(handle) = shown.handle.filter(|_| !is_open) {
                // SAFETY: opened below, and closed once.
                unsafe { libc::dlclose(handle.0) };
            }
            is_open
        });
        for map in now {
            if !shown.iter().any(|shown| shown.is_of(map)) {
                let handle = link_map::image(map).and_then(|image| stand_in(&image, Handle::of(map)));
                shown.push(Shown { map: std::ptr::from_ref(map).addr(), path: map.name().to_bytes().to_vec(), handle });
            }
        }
    });
}

impl Shown {
    fn is_of(&self, map: &LinkMap) -> bool {
        self.map == std::ptr::from_ref(map).addr() && self.path == map.name().to_bytes()
    }
}

/// The libraries that tools have opened with RTLD_GLOBAL, and those that came with them; of several tools, the outermost's first.
fn opened(_: &Writer) -> Vec<&'static LinkMap> {
    let mut maps = Vec::new();
    for instance in Instance::all() {
        let Some(namespace) = instance.answers.loaded_namespace() else { continue };
        dlsym::each_global(&instance.answers, namespace, &mut |map| maps.push(map));
    }
    maps
}

/// Defines what the library defines.
fn stand_in(image: &Image, handle: Handle) -> Option<Handle> {
    if is_private_everywhere(image.name()) {
        return None;
    }
    let symbols: Vec<Provided<'_>> = image
        .symbols()
        .filter(|symbol| symbol.defined)
        .filter_map(|symbol| {
            let address = match symbol.kind {
                Kind::Function | Kind::Data | Kind::Other => symbol.address,
                Kind::Ifunc => handle.find(symbol.name)?,
                Kind::Tls => return None,
            };
            Some(Provided::new(symbol.name, symbol.provided_kind(), address))
        })
        .collect();
    // What has no SONAME goes by the path that it was opened by.
    let path = image.path().to_string_lossy();
    let name = image.soname().and_then(|name| name.to_str().ok()).unwrap_or(&path);
    match scope_end::define_until_closed(name, &symbols) {
        Ok(handle) => Some(handle),
        Err(error) => {
            log::warn(&format!("the program's libraries cannot be bound to {path}: {error}"), None);
            None
        }
    }
}
